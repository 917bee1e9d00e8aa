#include <algorithm>
#include <list>

void sorted(std::list<float>& values) {
    std::sort(values.begin(), values.end());
}
