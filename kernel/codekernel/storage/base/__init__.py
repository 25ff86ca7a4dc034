"""A base: the chunks of many repositories as one LanceDB table, in a folder or a bucket.

base_rows.py     files with their chunks and vectors -> rows, and rows as bytes
base_table.py    the table: fill, index, publish under a tag; open at a tag and search
"""
