-- The project file, version 1. JSON is text; times are ISO 8601 in UTC.
-- What says who decided what and why (source, task, revision, event) is only ever added to: triggers refuse the rest.
-- Rows of `revision` and of `event` are chained by hashes: see chain.py.

CREATE TABLE meta (
    key TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
);

CREATE TABLE source (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,          -- of the bytes as they came
    bytes INTEGER NOT NULL,
    reading TEXT NOT NULL,         -- JSON: how the bytes are read as a table
    rows INTEGER NOT NULL,
    columns INTEGER NOT NULL,
    at TEXT NOT NULL,
    hash TEXT NOT NULL,            -- of all the above and the content
    content BLOB NOT NULL          -- the bytes, compressed by zlib; last, so that the rest is read without it
);

CREATE TABLE task (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source (id),
    body TEXT NOT NULL,            -- JSON: target, kinds, ranges, gaps, sealed rows
    at TEXT NOT NULL,
    hash TEXT NOT NULL             -- of the above and the hash of the source
);

CREATE TABLE revision (
    id INTEGER PRIMARY KEY,
    parent INTEGER REFERENCES revision (id),
    task INTEGER NOT NULL REFERENCES task (id),
    task_hash TEXT NOT NULL,       -- so that the chain holds task and source, too
    text TEXT NOT NULL,
    settings TEXT NOT NULL,        -- JSON
    author TEXT NOT NULL,
    at TEXT NOT NULL,
    why TEXT NOT NULL,
    kind TEXT NOT NULL,
    restores INTEGER REFERENCES revision (id),
    previous_hash TEXT NOT NULL,
    hash TEXT NOT NULL
);

CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    who TEXT NOT NULL,
    what TEXT NOT NULL,
    body TEXT NOT NULL,            -- JSON
    previous_hash TEXT NOT NULL,
    hash TEXT NOT NULL
);

-- What can be computed again: models, rules, outcomes. One of a kind for each revision.
CREATE TABLE result (
    id INTEGER PRIMARY KEY,
    revision INTEGER NOT NULL REFERENCES revision (id),
    kind TEXT NOT NULL,
    body TEXT NOT NULL,            -- JSON
    seconds REAL NOT NULL,
    version TEXT NOT NULL,         -- of clearmargin
    UNIQUE (revision, kind)
);

-- What is being typed in a tab of the browser.
CREATE TABLE draft (
    tab TEXT PRIMARY KEY NOT NULL,
    base INTEGER REFERENCES revision (id),
    text TEXT NOT NULL,
    at TEXT NOT NULL
);

CREATE TABLE job (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    input TEXT NOT NULL,           -- JSON
    state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'failed', 'cancelled', 'stopped')),
    progress REAL NOT NULL,
    message TEXT NOT NULL,
    started TEXT,
    ended TEXT,
    error TEXT
);

CREATE TABLE note (
    id INTEGER PRIMARY KEY,
    revision INTEGER NOT NULL REFERENCES revision (id),
    row INTEGER NOT NULL,
    author TEXT NOT NULL,
    at TEXT NOT NULL,
    text TEXT NOT NULL
);

CREATE INDEX note_by_row ON note (row);

CREATE TRIGGER source_is_not_changed BEFORE UPDATE ON source
BEGIN SELECT RAISE(ABORT, 'sources are never changed'); END;
CREATE TRIGGER source_is_not_removed BEFORE DELETE ON source
BEGIN SELECT RAISE(ABORT, 'sources are never removed'); END;

CREATE TRIGGER task_is_not_changed BEFORE UPDATE ON task
BEGIN SELECT RAISE(ABORT, 'tasks are never changed'); END;
CREATE TRIGGER task_is_not_removed BEFORE DELETE ON task
BEGIN SELECT RAISE(ABORT, 'tasks are never removed'); END;

CREATE TRIGGER revision_is_not_changed BEFORE UPDATE ON revision
BEGIN SELECT RAISE(ABORT, 'versions are never changed'); END;
CREATE TRIGGER revision_is_not_removed BEFORE DELETE ON revision
BEGIN SELECT RAISE(ABORT, 'versions are never removed'); END;

CREATE TRIGGER event_is_not_changed BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER event_is_not_removed BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'events are never removed'); END;

-- INSERT OR REPLACE removes a row without asking the triggers above.
CREATE TRIGGER source_is_added_at_the_end BEFORE INSERT ON source
WHEN NEW.id IS NOT (SELECT COALESCE(MAX(id), 0) + 1 FROM source)
BEGIN SELECT RAISE(ABORT, 'sources are added at the end only'); END;

CREATE TRIGGER task_is_added_at_the_end BEFORE INSERT ON task
WHEN NEW.id IS NOT (SELECT COALESCE(MAX(id), 0) + 1 FROM task)
BEGIN SELECT RAISE(ABORT, 'tasks are added at the end only'); END;

CREATE TRIGGER revision_is_added_at_the_end BEFORE INSERT ON revision
WHEN NEW.id IS NOT (SELECT COALESCE(MAX(id), 0) + 1 FROM revision)
BEGIN SELECT RAISE(ABORT, 'versions are added at the end only'); END;

CREATE TRIGGER event_is_added_at_the_end BEFORE INSERT ON event
WHEN NEW.id IS NOT (SELECT COALESCE(MAX(id), 0) + 1 FROM event)
BEGIN SELECT RAISE(ABORT, 'events are added at the end only'); END;
