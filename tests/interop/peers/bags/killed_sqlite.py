"""Writes a bag of rosbag2 again with a write-ahead log, as its storage profile `resilient` does, and is killed before anything
of the log has come into the file: killed_sqlite.py FOLDER."""
import os
import signal
import sqlite3
import sys
from pathlib import Path

folder = Path(sys.argv[1])
(path,) = folder.glob("*.db3")
with sqlite3.connect(path) as source:
    statements = list(source.iterdump())
source.close()
path.unlink()
(folder / "metadata.yaml").unlink()
database = sqlite3.connect(path, isolation_level=None)
(mode,) = database.execute("PRAGMA journal_mode = WAL").fetchone()
assert mode == "wal", mode
database.execute("PRAGMA wal_autocheckpoint = 0")
for statement in statements:
    database.execute(statement)
os.kill(os.getpid(), signal.SIGKILL)
