import numpy as np

from nicperf.stack._host import Socket

class ExchangeSocket(Socket):
    def results(self) -> tuple[np.ndarray, np.ndarray]: ...

class ExchangeClient(ExchangeSocket): ...
