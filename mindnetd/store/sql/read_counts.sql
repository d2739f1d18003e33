-- Statements of read_counts.

-- name: edge_counts
WITH hidden AS (SELECT unnest(?::VARCHAR[])::UUID AS id)
SELECT relation, source, count(*) AS edges, count(DISTINCT dst_id) FILTER (dst_kind = 'unresolved') AS targets
FROM edges
WHERE src_id NOT IN (SELECT id FROM hidden) AND dst_id NOT IN (SELECT id FROM hidden)
GROUP BY GROUPING SETS ((relation, source), ())
