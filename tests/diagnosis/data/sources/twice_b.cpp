float forward(float x) { return x; }
