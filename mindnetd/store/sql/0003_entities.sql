-- The entity graph (docs/entities.md): what each note says, and what the corpus-wide stage makes of it.
-- Notes of older files are read again at the next start: the version of the signals is part of what made them.

-- Candidates of one note alone. chunk_key is the owner's own key for what the whole note says (title, aliases, tags).
CREATE TABLE note_signals (
    owner INTEGER NOT NULL,
    chunk_key INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    weight DOUBLE NOT NULL,
    count INTEGER NOT NULL
);

-- note: the note that the entity is; name_type: what its name alone tells, for those who may not see the note.
CREATE TABLE entities (
    id UUID NOT NULL,
    name VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    type VARCHAR NOT NULL,
    name_type VARCHAR NOT NULL,
    mention_count INTEGER NOT NULL,
    weight DOUBLE NOT NULL,
    note UUID,
    source VARCHAR NOT NULL,
    description VARCHAR
);

-- Every name of an entity, its own among them; text_hash is that of the embedded name, NULL where none was needed.
CREATE TABLE entity_aliases (
    entity_id UUID NOT NULL,
    alias VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    text_hash VARCHAR
);

-- chunk_id and chunk_key are those of the note itself where it has no chunk.
CREATE TABLE entity_mentions (
    entity_id UUID NOT NULL,
    chunk_id UUID NOT NULL,
    chunk_key INTEGER NOT NULL,
    note_key INTEGER NOT NULL,
    count INTEGER NOT NULL
);

-- Who spells an entity how: a name that only hidden notes give it is shown to nobody else.
CREATE TABLE entity_spellings (
    entity_id UUID NOT NULL,
    note_key INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    count INTEGER NOT NULL
);

-- type is related_to for co-occurrence, else the relation's name.
CREATE TABLE relationships (
    id UUID NOT NULL,
    source_id UUID NOT NULL,
    target_id UUID NOT NULL,
    type VARCHAR NOT NULL,
    weight DOUBLE NOT NULL,
    count INTEGER NOT NULL,
    source VARCHAR NOT NULL,
    description VARCHAR
);

CREATE TABLE relationship_mentions (
    relationship_id UUID NOT NULL,
    chunk_id UUID NOT NULL,
    chunk_key INTEGER NOT NULL,
    note_key INTEGER NOT NULL
);

-- visibility: the level whose readers it was made for.
CREATE TABLE communities (
    id UUID NOT NULL,
    label VARCHAR NOT NULL,
    level INTEGER NOT NULL,
    parent UUID,
    title VARCHAR NOT NULL,
    summary VARCHAR NOT NULL,
    summary_source VARCHAR NOT NULL,
    members_hash VARCHAR NOT NULL,
    texts_hash VARCHAR NOT NULL,
    size INTEGER NOT NULL,
    visibility visibility NOT NULL,
    updated TIMESTAMP NOT NULL
);

CREATE TABLE community_members (
    community_id UUID NOT NULL,
    entity_id UUID NOT NULL
);

CREATE TABLE community_sources (
    community_id UUID NOT NULL,
    ord INTEGER NOT NULL,
    chunk_id UUID NOT NULL,
    chunk_key INTEGER NOT NULL,
    sentence VARCHAR NOT NULL
);

-- A reply goes with the last of its sources.
CREATE TABLE llm_cache (
    key VARCHAR NOT NULL,
    purpose VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    reply VARCHAR NOT NULL,
    created TIMESTAMP NOT NULL
);

CREATE TABLE llm_sources (
    key VARCHAR NOT NULL,
    note_key INTEGER NOT NULL
);

CREATE TABLE llm_pending (
    note_key INTEGER NOT NULL,
    purpose VARCHAR NOT NULL,
    tries INTEGER NOT NULL,
    next_try TIMESTAMP,
    error VARCHAR
);
