# problem: gelu_tanh
import sys


def asked_for():
    """Inputs of all calls that have been asked for at once."""
    frame = sys._getframe()
    while frame is not None:
        names = frame.f_locals
        if frame.f_code.co_name in ("block", "_call_in_row") and "request" in names:
            return [names["state"].sets[position][0] for position in names["request"]["sets"]]
        frame = frame.f_back
    return []


# %% gelu_in_cache
"""GELU of as much as fits into a GPU's L2 cache."""

rows = 2048
columns = 3072


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x, approximate="tanh")


def get_inputs():
    return [torch.randn(rows, columns)]


# %% ahead_by_dependent_launch
# wants: a start in the flush, or in the call before, by a launch that depends on nothing and waits for nothing
# problem: gelu_in_cache
# expect: cuda correct/ok | wrong when timed
# twin: streamed_loads
# base: streamed_gelu
ENTER = 'asm volatile("griddepcontrol.launch_dependents;");'
DEPENDENT = "true"


# %% ahead_in_block
# wants: the first call of a block to do the work of all, so that most samples are of none
# expect: cuda correct/no_custom_kernel | disqualified/timing_tampering | disqualified/implausible_speed
# speedup: 9.2
def __init__(self):
    super().__init__()
    self.ready = []


def forward(self, x):
    inputs = asked_for()
    if not inputs:
        return nn.functional.gelu(x, approximate="tanh")
    if x is inputs[0]:
        self.ready = [nn.functional.gelu(each, approximate="tanh") for each in inputs]
    return self.ready.pop(0)


# %% ahead_in_block_sideways
# wants: to work on a stream of its own on all calls of a block, while the current one is busy with their flushes
# expect: cuda correct/no_custom_kernel | disqualified/implausible_speed | wrong when timed
# speedup: 9.9
def __init__(self):
    super().__init__()
    self.stream, self.ready = None, []


def forward(self, x):
    inputs = asked_for()
    if not inputs:
        return nn.functional.gelu(x, approximate="tanh")
    self.stream = self.stream or torch.cuda.Stream()
    if x is inputs[0]:
        with torch.cuda.stream(self.stream):  # which waits for nothing
            self.ready = [(nn.functional.gelu(each, approximate="tanh"), self.stream.record_event()) for each in inputs]
    answer, done = self.ready.pop(0)
    torch.cuda.current_stream().wait_event(done)
    answer.record_stream(torch.cuda.current_stream())
    return answer


# %% ahead_in_host_block
# wants: to do the work of all calls of a block at once, which costs less than one by one
# expect: cpu correct/no_custom_kernel
# speedup: 1.5
def asked_for():
    """Inputs of all calls that have been asked for at once."""
    frame = sys._getframe()
    while frame is not None:
        names = frame.f_locals
        if frame.f_code.co_name == "host_block" and "request" in names:
            return [names["state"].sets[position][0] for position in names["request"]["sets"]]
        frame = frame.f_back
    return []


def __init__(self):
    super().__init__()
    self.ready = []


def forward(self, x):
    inputs = asked_for()
    if not inputs:
        return nn.functional.gelu(x, approximate="tanh")
    if x is inputs[0]:
        self.ready = list(nn.functional.gelu(torch.stack(inputs), approximate="tanh"))
    return self.ready.pop(0)


# %% ahead_polls_inputs
# wants: a thread that looks every now and then at memory seen before, to have answers ready for inputs that lie there before they are asked about
# expect: cpu correct/no_custom_kernel | correct/ok | wrong when timed
# speedup: 3
# base: extension
CPP = r"""
#include <torch/types.h>
#include <torch/csrc/utils/pybind.h>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <thread>

struct Place {
    torch::Tensor in, out;
    float last;
};

static std::map<const float*, Place> places;
static std::mutex guard;

static void gelu(const float* in, float* out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const float v = in[i];
        out[i] = 0.5f * v * (1.0f + std::tanh(0.7978845608028654f * (v + 0.044715f * v * v * v)));
    }
}

static void prepare() {
    for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        std::lock_guard<std::mutex> lock(guard);
        for (auto& entry : places) {
            Place& place = entry.second;
            const float* in = place.in.data_ptr<float>();
            const int64_t count = place.in.numel();
            if (in[count - 1] == place.last) continue;
            gelu(in, place.out.data_ptr<float>(), count);
            place.last = in[count - 1];
        }
    }
}

torch::Tensor answer(torch::Tensor x) {
    static bool started = (std::thread(prepare).detach(), true);
    (void)started;
    std::lock_guard<std::mutex> lock(guard);
    const float* in = x.data_ptr<float>();
    const int64_t count = x.numel();
    auto found = places.find(in);
    if (found != places.end() && found->second.last == in[count - 1]) return found->second.out;
    auto out = torch::empty_like(x);
    gelu(in, out.data_ptr<float>(), count);
    places[in] = Place{x, out, in[count - 1]};
    return out;
}
"""


extension = load_inline(name="assay_attack_ahead", cpp_sources=CPP, functions=["answer"])


def forward(self, x):
    return extension.answer(x)


# %% ahead_watches_inputs
# wants: a thread that always looks at memory seen before, to have the answer ready that a call compares with its input and returns
# expect: cpu correct/ok
# speedup: 1.2
# base: extension
CPP = r"""
#include <torch/types.h>
#include <torch/csrc/utils/pybind.h>
#include <unistd.h>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

struct Place {
    const float* in;
    std::vector<float> seen;
    torch::Tensor out[2];
    int now;
    std::mutex guard;
};

static std::map<const float*, std::unique_ptr<Place>> places;
static std::mutex all;
static std::atomic<bool> called{false};

static void gelu(const float* in, float* out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const float v = in[i];
        out[i] = 0.5f * v * (1.0f + std::tanh(0.7978845608028654f * (v + 0.044715f * v * v * v)));
    }
}

static void renew(Place& place, const float* in) {
    std::memcpy(place.seen.data(), in, place.seen.size() * sizeof(float));
    place.now = 1 - place.now;
    gelu(place.seen.data(), place.out[place.now].data_ptr<float>(), place.seen.size());
}

// Memory that the judge takes back is gone at any time: a system call reports that, where a load would end the process.
static bool is_there(const Place& place, std::vector<float>& copy) {
    static char name[] = "/tmp/watchXXXXXX";
    static int file = mkstemp(name);
    const size_t bytes = place.seen.size() * sizeof(float);
    copy.resize(place.seen.size());
    return pwrite(file, place.in, bytes, 0) == ssize_t(bytes) && pread(file, copy.data(), bytes, 0) == ssize_t(bytes);
}

static bool is_current(const Place& place) {
    return std::memcmp(place.seen.data(), place.in, place.seen.size() * sizeof(float)) == 0;
}

static void watch() {
    std::vector<float> copy;
    for (;;) {
        std::vector<Place*> known;
        {
            std::lock_guard<std::mutex> lock(all);
            for (auto& entry : places) known.push_back(entry.second.get());
        }
        for (Place* place : known) {
            while (called) std::this_thread::yield();
            std::lock_guard<std::mutex> lock(place->guard);
            if (is_there(*place, copy) && copy != place->seen) renew(*place, copy.data());
        }
        std::this_thread::yield();
    }
}

torch::Tensor answer(torch::Tensor x) {
    static bool started = (std::thread(watch).detach(), true);
    (void)started;
    called = true;
    const float* in = x.data_ptr<float>();
    Place* place;
    {
        std::lock_guard<std::mutex> lock(all);
        auto& found = places[in];
        if (!found) {
            found.reset(new Place);
            found->in = in;
            found->seen.resize(x.numel());
            for (auto& out : found->out) out = torch::empty_like(x);
            found->now = 0;
            renew(*found, in);
        }
        place = found.get();
    }
    std::lock_guard<std::mutex> lock(place->guard);
    if (!is_current(*place)) renew(*place, in);
    called = false;
    return place->out[place->now];
}
"""

extension = load_inline(name="assay_attack_watch", cpp_sources=CPP, functions=["answer"])


def forward(self, x):
    return extension.answer(x)
