"""Replay: the compiled engine, for queues, placers and auctions, on pools of cores and on changing machines."""
