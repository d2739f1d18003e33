What the entity graph is loaded from. Each is ordered, so that equal tables give equal snapshots.

-- name: entities
SELECT e.audience, e.id::VARCHAR AS id, e.name, e.type, e.name_type, e.weight, e.note::VARCHAR AS note, coalesce(n.key, -1) AS note_key,
       e.source, e.description
FROM entities e LEFT JOIN notes n ON n.id = e.note
ORDER BY e.audience, e.key, e.id

-- name: aliases
SELECT audience, entity_id::VARCHAR, key FROM entity_aliases ORDER BY audience, key, entity_id

-- name: mentions
SELECT entity_id::VARCHAR AS entity, chunk_id::VARCHAR AS chunk_id, chunk_key, note_key, count
FROM entity_mentions WHERE audience = ? ORDER BY chunk_key, entity_id

-- name: spellings
SELECT audience, entity_id::VARCHAR, note_key, name, key, count FROM entity_spellings
ORDER BY audience, entity_id, note_key, name

-- name: relations
SELECT audience, id::VARCHAR AS id, source_id::VARCHAR AS src, target_id::VARCHAR AS dst, type, weight, count, source, description
FROM relationships ORDER BY audience, id

-- name: relation_mentions
SELECT relationship_id::VARCHAR AS relation, chunk_key, note_key FROM relationship_mentions
WHERE audience = ? ORDER BY relationship_id, chunk_key

-- name: communities
SELECT audience, id::VARCHAR, label, level, parent::VARCHAR, title, summary, summary_source, size,
       strftime(updated, '%Y-%m-%dT%H:%M:%SZ')
FROM communities ORDER BY audience, level, label, id

-- name: community_members
SELECT audience, community_id::VARCHAR, entity_id::VARCHAR FROM community_members
ORDER BY audience, community_id, entity_id

-- name: community_sources
SELECT audience, community_id::VARCHAR, chunk_key, chunk_id::VARCHAR, sentence FROM community_sources
ORDER BY audience, community_id, ord

-- name: counts
SELECT (SELECT count(*) FROM entities WHERE audience = $1), (SELECT count(*) FROM relationships WHERE audience = $1),
       (SELECT count(*) FROM communities WHERE audience = $1)

-- name: note_signals
SELECT chunk_key, kind, name, key, weight, count FROM note_signals WHERE owner = ?

-- name: note_chunks
SELECT key, id::VARCHAR FROM chunks WHERE note_key = ? ORDER BY key

-- name: corpus_sights
SELECT key, visibility::VARCHAR, flags FROM notes ORDER BY key

-- name: corpus_notes
SELECT key, id::VARCHAR, path, title, type, lang FROM notes ORDER BY path

-- name: corpus_chunks
SELECT key, id::VARCHAR, note_key, start_line FROM chunks ORDER BY note_key, chunk_idx

-- name: corpus_signals
SELECT owner, chunk_key, kind, name, key, weight, count FROM note_signals

-- name: corpus_links
SELECT l.owner, l.target, coalesce(l.by_id, l.resolved), n.id::VARCHAR
FROM (SELECT DISTINCT owner, target, by_id, resolved FROM links WHERE coalesce(by_id, resolved) IS NOT NULL) l
LEFT JOIN notes n ON n.path = coalesce(l.by_id, l.resolved)

-- name: note_links
SELECT DISTINCT l.target, n.id::VARCHAR
FROM links l LEFT JOIN notes n ON n.path = coalesce(l.by_id, l.resolved)
WHERE l.owner = ? AND coalesce(l.by_id, l.resolved) IS NOT NULL

-- name: corpus_edges
SELECT e.owner, e.src_id::VARCHAR, e.dst_id::VARCHAR, e.dst_kind, e.dst_label, e.relation, e.source, e.weight,
       e.occurrences, e.line
FROM edges e
WHERE e.src_kind = 'note' AND e.dst_kind IN ('note', 'unresolved') AND e.scope = 'note'
ORDER BY e.id

-- name: lower_words
SELECT w.word, n.visibility::VARCHAR, n.flags, count(*) FROM (
    SELECT unnest(regexp_extract_all(text, '(?:^|[^\pL\pN_/.@#-])(\p{Ll}[\pL]+)', 1)) AS word, note_key FROM chunks
) w JOIN notes n ON n.key = w.note_key
WHERE w.word IN (SELECT unnest(string_split(?, ' '))) GROUP BY ALL

-- name: corpus_fingerprint
-- bit_xor of equal rows cancels out, so counts go along
SELECT (SELECT (count(*), bit_xor(hash(id, path, title, type, lang, note_id, visibility, flags))) FROM notes),
       (SELECT (count(*), bit_xor(hash(id, content_hash, start_line))) FROM chunks),
       (SELECT (count(*), bit_xor(hash(n.id, coalesce(c.chunk_idx, -1), s.kind, s.name, s.weight, s.count)))
        FROM note_signals s JOIN notes n ON n.key = s.owner LEFT JOIN chunks c ON c.key = s.chunk_key),
       (SELECT (count(*), bit_xor(hash(n.id, l.ord, l.target, l.resolved, l.by_id))) FROM links l JOIN notes n ON n.key = l.owner),
       (SELECT (count(*), bit_xor(hash(id, occurrences, line, weight))) FROM edges)
