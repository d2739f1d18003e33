-- Whose graph a row belongs to (core/audiences.py). What was made over all notes, whoever may see them, told of hidden
-- ones: it goes, and the next corpus-wide stage makes it anew from the signals.
DROP TABLE entities;
DROP TABLE entity_aliases;
DROP TABLE entity_mentions;
DROP TABLE entity_spellings;
DROP TABLE relationships;
DROP TABLE relationship_mentions;
DROP TABLE communities;
DROP TABLE community_members;
DROP TABLE community_sources;
DELETE FROM meta WHERE key IN ('corpus_state', 'corpus_built', 'communities_state');

-- An id depends on the name alone, so that several audiences may have it: (audience, id) is the key of a row.
-- note: the note that the entity is; name_type: what its name alone tells, for those who may not see the note.
CREATE TABLE entities (
    audience VARCHAR NOT NULL,
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
    audience VARCHAR NOT NULL,
    entity_id UUID NOT NULL,
    alias VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    text_hash VARCHAR
);

-- chunk_id and chunk_key are those of the note itself where it has no chunk.
CREATE TABLE entity_mentions (
    audience VARCHAR NOT NULL,
    entity_id UUID NOT NULL,
    chunk_id UUID NOT NULL,
    chunk_key INTEGER NOT NULL,
    note_key INTEGER NOT NULL,
    count INTEGER NOT NULL
);

-- Who spells an entity how: a name that only hidden notes give it is shown to nobody else.
CREATE TABLE entity_spellings (
    audience VARCHAR NOT NULL,
    entity_id UUID NOT NULL,
    note_key INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    count INTEGER NOT NULL
);

-- type is related_to for co-occurrence, else the relation's name.
CREATE TABLE relationships (
    audience VARCHAR NOT NULL,
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
    audience VARCHAR NOT NULL,
    relationship_id UUID NOT NULL,
    chunk_id UUID NOT NULL,
    chunk_key INTEGER NOT NULL,
    note_key INTEGER NOT NULL
);

CREATE TABLE communities (
    audience VARCHAR NOT NULL,
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
    updated TIMESTAMP NOT NULL
);

CREATE TABLE community_members (
    audience VARCHAR NOT NULL,
    community_id UUID NOT NULL,
    entity_id UUID NOT NULL
);

CREATE TABLE community_sources (
    audience VARCHAR NOT NULL,
    community_id UUID NOT NULL,
    ord INTEGER NOT NULL,
    chunk_id UUID NOT NULL,
    chunk_key INTEGER NOT NULL,
    sentence VARCHAR NOT NULL
);
