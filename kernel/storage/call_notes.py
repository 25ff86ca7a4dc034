"""The catalogue's notes on which files have changed, so that whoever follows need not compare all.

Kept by triggers, in the catalogue itself: with every write, whoever writes, or not at all. They
change no row that was there before, hence no new format.
"""

CHANGED_FILES = """
CREATE TABLE IF NOT EXISTS changed (file_id INTEGER PRIMARY KEY, at INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS changed_at ON changed (at);
CREATE TRIGGER IF NOT EXISTS file_came AFTER INSERT ON file BEGIN
    INSERT OR REPLACE INTO changed
    VALUES (new.id, 1 + (SELECT coalesce(max(at), 0) FROM changed));
END;
CREATE TRIGGER IF NOT EXISTS file_differs AFTER UPDATE OF digest, language ON file
WHEN new.digest <> old.digest OR new.language <> old.language BEGIN
    INSERT OR REPLACE INTO changed
    VALUES (new.id, 1 + (SELECT coalesce(max(at), 0) FROM changed));
END;
CREATE TRIGGER IF NOT EXISTS file_went AFTER DELETE ON file BEGIN
    INSERT OR REPLACE INTO changed
    VALUES (old.id, 1 + (SELECT coalesce(max(at), 0) FROM changed));
END;
"""
