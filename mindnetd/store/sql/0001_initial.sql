-- The first schema. docs/store.md explains every table; names and the columns of the contract are in the design, section 4.
-- No foreign keys and no secondary indexes (libraries.md 2.22, 2.23). Keys are internal integers from one ascending
-- sequence for notes, canvases and chunks; they are never reused and mean nothing outside this file.

CREATE TYPE visibility AS ENUM ('public', 'internal', 'sensitive');

CREATE TABLE notes (
    key INTEGER PRIMARY KEY,
    id UUID NOT NULL,
    note_id VARCHAR,
    path VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    h1 VARCHAR,
    aliases JSON NOT NULL,
    tags JSON NOT NULL,
    type VARCHAR,
    status VARCHAR,
    visibility visibility NOT NULL,
    flags JSON NOT NULL,
    lang VARCHAR NOT NULL,
    created VARCHAR,
    modified VARCHAR NOT NULL,
    body_hash VARCHAR NOT NULL,
    frontmatter_hash VARCHAR NOT NULL,
    full_hash VARCHAR NOT NULL,
    raw_hash VARCHAR NOT NULL,
    hash_mode VARCHAR NOT NULL,
    stale BOOLEAN NOT NULL,
    frontmatter JSON NOT NULL,
    size BIGINT NOT NULL,
    mtime_ns BIGINT NOT NULL,
    import_run_id VARCHAR NOT NULL,
    raw BLOB NOT NULL
);

CREATE TABLE chunks (
    key INTEGER PRIMARY KEY,
    id UUID NOT NULL,
    note UUID NOT NULL,
    note_key INTEGER NOT NULL,
    chunk_idx INTEGER NOT NULL,
    chunk_profile VARCHAR NOT NULL,
    section JSON NOT NULL,
    text VARCHAR NOT NULL,
    overlap_left VARCHAR NOT NULL,
    overlap_right VARCHAR NOT NULL,
    tokens INTEGER NOT NULL,
    start_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    content_hash VARCHAR NOT NULL,
    retriever_weight DOUBLE,
    time_weight_override DOUBLE,
    import_run_id VARCHAR NOT NULL
);

-- The title passage of a note: chunk_id is the note's id, idx is -1, owner is the note's key.
CREATE TABLE passages (
    chunk_id UUID NOT NULL,
    idx INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    note_key INTEGER NOT NULL,
    start_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    text_hash VARCHAR NOT NULL
);

-- One vector for a text and a model, ever. unused_since is set when garbage collection first finds no passage for it.
-- Vectors of another dimension are in a table embeddings_<dim> of the same columns, made when the first one comes.
CREATE TABLE embeddings (
    text_hash VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    embedding FLOAT[384] NOT NULL,
    unused_since TIMESTAMP
);

-- hash is md5_number_lower(term): a batch finds its terms by comparing integers, not 150,000 strings.
CREATE TABLE terms (
    id INTEGER NOT NULL,
    hash UBIGINT NOT NULL,
    term VARCHAR NOT NULL
);

-- doc is the key of a chunk, or of a note with an empty body; field is the place in core.analyze.FIELDS.
CREATE TABLE postings (
    doc INTEGER NOT NULL,
    term INTEGER NOT NULL,
    field UTINYINT NOT NULL,
    tf USMALLINT NOT NULL
);

CREATE TABLE lengths (
    doc INTEGER NOT NULL,
    note_key INTEGER NOT NULL,
    title INTEGER NOT NULL,
    aliases INTEGER NOT NULL,
    headings INTEGER NOT NULL,
    tags INTEGER NOT NULL,
    body INTEGER NOT NULL
);

-- owner is the key of a note or of a canvas; ord is the place in the file.
CREATE TABLE links (
    owner INTEGER NOT NULL,
    ord INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    raw VARCHAR NOT NULL,
    target VARCHAR NOT NULL,
    heading VARCHAR,
    block VARCHAR,
    display VARCHAR,
    line INTEGER,
    property VARCHAR,
    in_comment BOOLEAN NOT NULL,
    relation VARCHAR NOT NULL,
    resolved VARCHAR,
    ambiguous BOOLEAN NOT NULL
);

-- Under which names the links of an owner wait (core.resolve.name_keys): who must be looked at when a file comes or goes.
CREATE TABLE link_names (
    owner INTEGER NOT NULL,
    name VARCHAR NOT NULL
);

CREATE TABLE edges (
    id UUID NOT NULL,
    owner INTEGER NOT NULL,
    src_id UUID NOT NULL,
    dst_id UUID NOT NULL,
    src_kind VARCHAR NOT NULL,
    dst_kind VARCHAR NOT NULL,
    dst_label VARCHAR NOT NULL,
    relation VARCHAR NOT NULL,
    scope VARCHAR NOT NULL,
    note_id UUID NOT NULL,
    weight DOUBLE NOT NULL,
    source VARCHAR NOT NULL,
    occurrences INTEGER NOT NULL,
    evidence VARCHAR NOT NULL,
    line INTEGER,
    visibility visibility NOT NULL,
    created TIMESTAMP NOT NULL,
    import_run_id VARCHAR NOT NULL
);

-- Every file of the vault as last seen, so that a restart reads none that did not change.
CREATE TABLE files (
    path VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    size BIGINT NOT NULL,
    mtime_ns BIGINT NOT NULL,
    ctime_ns BIGINT NOT NULL,
    inode UBIGINT NOT NULL
);

CREATE TABLE canvases (
    key INTEGER NOT NULL,
    id UUID NOT NULL,
    path VARCHAR NOT NULL,
    raw_hash VARCHAR NOT NULL
);

CREATE TABLE diagnostics (
    path VARCHAR NOT NULL,
    owner INTEGER,
    ord INTEGER NOT NULL,
    code VARCHAR NOT NULL,
    message VARCHAR NOT NULL,
    line INTEGER
);

CREATE TABLE import_runs (
    id VARCHAR NOT NULL,
    trigger VARCHAR NOT NULL,
    started TIMESTAMP NOT NULL,
    ended TIMESTAMP,
    config_hash VARCHAR NOT NULL,
    vault_repo VARCHAR,
    vault_commit VARCHAR,
    files_seen INTEGER NOT NULL,
    files_changed INTEGER NOT NULL,
    files_failed INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    edges INTEGER NOT NULL,
    embeddings_made INTEGER NOT NULL,
    embeddings_reused INTEGER NOT NULL,
    errors JSON NOT NULL
);

CREATE TABLE configs (
    config_hash VARCHAR NOT NULL,
    created TIMESTAMP NOT NULL,
    config JSON NOT NULL
);

CREATE TABLE query_log (
    id VARCHAR NOT NULL,
    "timestamp" TIMESTAMP NOT NULL,
    query VARCHAR NOT NULL,
    filters JSON NOT NULL,
    top_k INTEGER NOT NULL,
    took_ms DOUBLE NOT NULL,
    decision_trace JSON
);

-- Edges that follow from the rows themselves.
CREATE VIEW structural_edges AS
    SELECT id AS src_id, note AS dst_id, 'chunk' AS src_kind, 'note' AS dst_kind, 'belongs_to' AS relation FROM chunks
    UNION ALL
    SELECT a.id, b.id, 'chunk', 'chunk', 'next' FROM chunks a
    JOIN chunks b ON b.note_key = a.note_key AND b.chunk_idx = a.chunk_idx + 1
    UNION ALL
    SELECT b.id, a.id, 'chunk', 'chunk', 'prev' FROM chunks a
    JOIN chunks b ON b.note_key = a.note_key AND b.chunk_idx = a.chunk_idx + 1
    UNION ALL
    SELECT DISTINCT dst_id, src_id, 'note', src_kind, 'backlink' FROM edges WHERE dst_kind = 'note';
