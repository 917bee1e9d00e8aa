float scale = 2.0f;
float forward(float x) { return scale * x; }
