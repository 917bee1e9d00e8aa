"""The HTTP service: it accepts submissions, judges them on this machine, and answers queries by their ids.

Each module imports only what stands before it in this list:
`models`, `errors`, `options`, `tokens`, `metrics`, `progress` · `problems`, `intake` · `judging` · `http` · `server` · `__main__`.
"""
