Replies of the language model, whose they are, and what waits for one. Each reply goes with the last of its sources.

-- name: replies
SELECT key, reply FROM llm_cache WHERE key IN (SELECT unnest(string_split(?, ' ')))

-- name: keys
SELECT key FROM llm_cache

-- name: alive
SELECT key FROM notes WHERE key IN ({keys})

-- name: fingerprint
SELECT count(*), coalesce(bit_xor(hash(key)), 0) FROM llm_cache WHERE (purpose = 'summary') = ?

-- name: documents
SELECT n.key, n.title, n.visibility::VARCHAR, n.flags, c.key, c.id::VARCHAR, c.text
FROM notes n JOIN chunks c ON c.note_key = n.key
ORDER BY n.path, c.chunk_idx

-- name: candidates
SELECT owner, key, min(name), sum(weight * count) AS score
FROM note_signals WHERE kind NOT IN ('tag', 'title')
GROUP BY owner, key ORDER BY owner, score DESC, key

-- name: entity_names
SELECT e.audience, e.name, list(DISTINCT m.note_key ORDER BY m.note_key)
FROM entities e JOIN entity_mentions m ON m.audience = e.audience AND m.entity_id = e.id
GROUP BY e.audience, e.name ORDER BY e.audience, e.name

-- name: summed
SELECT m.audience, m.id::VARCHAR, m.title, list(s.sentence ORDER BY s.ord), list(c.note_key)
FROM communities m
JOIN community_sources s ON s.audience = m.audience AND s.community_id = m.id
JOIN chunks c ON c.key = s.chunk_key
GROUP BY m.audience, m.id, m.title, m.level ORDER BY m.level, m.title, m.audience, m.id

-- name: sweep
DELETE FROM llm_cache WHERE key NOT IN (SELECT key FROM llm_sources) AND created <= ?::TIMESTAMP

-- name: sweep_now
DELETE FROM llm_cache WHERE key IN (
    SELECT key FROM llm_sources WHERE note_key IN ({gone})
    EXCEPT SELECT key FROM llm_sources WHERE note_key NOT IN ({gone})
) OR (purpose = 'summary' AND key IN (SELECT key FROM llm_sources WHERE note_key IN ({gone})))

-- name: pending
SELECT key, purpose, note_key, tries, next_try, error FROM llm_pending ORDER BY note_key, purpose, key
