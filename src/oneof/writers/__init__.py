"""Files that the readers read, written whole or not at all. Public names, nothing else."""

from oneof.writers.opening import open_table, open_writer
from oneof.writers.rows import ROWS, RowWriter
from oneof.writers.tables import TABLES, Table

__all__ = ["ROWS", "TABLES", "RowWriter", "Table", "open_table", "open_writer"]
