# wants: a judge that waits for an endless call, deaf to polite signals
# problem: softmax
# expect: run_failed/timeout
import signal


def forward(self, x):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    while True:
        pass
