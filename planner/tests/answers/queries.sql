SELECT name FROM users WHERE id = 2
SELECT * FROM users WHERE id IN (1, 3, 3, NULL, 77)
SELECT * FROM users WHERE id = ANY(ARRAY[1, 2, 2, NULL])
SELECT id FROM stories WHERE author = 1 OR author = 4
SELECT vote FROM votes WHERE user_id = 2 AND story_id = 1
SELECT vote FROM votes WHERE user_id = 2 AND story_id IN (1, 2, 3)
SELECT id FROM users WHERE email = 'b@x'
SELECT id FROM users WHERE id = 5000000000
SELECT id FROM users WHERE id = 1.5
SELECT id FROM users WHERE id = 2.0
SELECT * FROM tags WHERE id > 1 AND id <= 3 ORDER BY id LIMIT 5
SELECT tag FROM tags ORDER BY id DESC LIMIT 2
SELECT tag FROM tags WHERE tag >= 'a' AND tag < 'm' ORDER BY tag
SELECT id FROM tags WHERE id > 1 ORDER BY id DESC OFFSET 1
SELECT name FROM users WHERE false
SELECT s.title, u.name FROM stories s JOIN users u ON u.id = s.author WHERE s.id = 3
SELECT s.title, u.name FROM stories s, users u WHERE u.id = s.author AND u.id = 1
SELECT s.title, u.name FROM stories s, users u WHERE u.id = s.author
SELECT t.tag FROM stories s JOIN taggings g ON g.story_id = s.id JOIN tags t ON t.id = g.tag_id WHERE s.id = 1
SELECT s.id, t.tag FROM stories s JOIN taggings g ON g.story_id = s.id JOIN tags t ON t.id = g.tag_id
SELECT s.title, u.name FROM stories s LEFT JOIN users u ON u.id = s.author
SELECT s.title, u.name FROM stories s LEFT JOIN users u ON u.id = s.author WHERE s.id = 6
SELECT s.title, u.name FROM stories s LEFT JOIN users u ON u.id = s.author AND u.karma > s.score
SELECT s.title, u.name FROM stories s LEFT JOIN users u ON u.id = s.author AND s.score > 5
SELECT s.title, u.name FROM stories s LEFT JOIN users u ON s.score > 5
SELECT s.title, u.name FROM stories s LEFT JOIN users u ON u.karma < s.score
SELECT s.title, u.name FROM stories s LEFT JOIN users u ON false
SELECT s.title, u.name FROM stories s LEFT JOIN users u ON u.id = s.author WHERE u.name IS NULL
SELECT s.title, u.name FROM stories s LEFT JOIN users u ON u.id = s.author WHERE u.name = 'ann'
SELECT s.title, u.name FROM stories s RIGHT JOIN users u ON u.id = s.author
SELECT s.title, u.name FROM stories s RIGHT JOIN users u ON u.id = s.author AND s.score > 5 WHERE u.id < 4
SELECT a.id, b.id FROM users a FULL JOIN comments b ON a.id = b.author
SELECT a.id, b.id FROM users a FULL JOIN stories b ON a.karma = b.score AND b.id > 1
SELECT a.id, b.id FROM users a CROSS JOIN tags b
SELECT a.id, b.id FROM users a JOIN users b ON a.karma = b.karma
SELECT a.id, b.id FROM users a JOIN users b ON a.karma IS NOT DISTINCT FROM b.karma
SELECT a.id, b.id FROM users a JOIN stories b ON a.id = b.id
SELECT u.name, x.title FROM users u, LATERAL (SELECT title FROM stories s WHERE s.author = u.id ORDER BY score DESC NULLS LAST, id LIMIT 1) x
SELECT u.name, x.title FROM users u, LATERAL (SELECT title FROM stories s WHERE s.author = u.id ORDER BY score DESC LIMIT 1) x WHERE u.id = 1
SELECT u.name, x.title FROM users u LEFT JOIN LATERAL (SELECT title FROM stories s WHERE s.author = u.id ORDER BY score DESC LIMIT 1) x ON true
SELECT u.name, x.n FROM users u LEFT JOIN LATERAL (SELECT count(*) AS n FROM stories s WHERE s.author = u.id) x ON x.n > 0
SELECT u.name, x.n FROM users u, LATERAL (SELECT count(*) AS n, sum(score) FROM stories s WHERE s.author = u.id) x
SELECT u.id, x.y FROM users u, LATERAL (SELECT u.karma + 1 AS y UNION ALL SELECT u.id) x
SELECT u.id, g FROM users u, generate_series(1, u.id) g WHERE u.id < 3
SELECT u.id, g FROM users u LEFT JOIN LATERAL generate_series(2, u.id) g ON g <> 3
SELECT u.id, x.a, x.b FROM users u, LATERAL (SELECT s.id AS a, v.user_id AS b FROM stories s LEFT JOIN votes v ON v.story_id = s.id AND v.user_id <> u.id WHERE s.author = u.id) x
SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM stories s WHERE s.author = u.id)
SELECT name FROM users u WHERE id = 2 AND EXISTS (SELECT 1 FROM stories s WHERE s.author = u.id AND s.score > 3)
SELECT name FROM users u WHERE NOT EXISTS (SELECT 1 FROM stories s WHERE s.author = u.id)
SELECT id FROM users u WHERE EXISTS (SELECT 1 FROM stories s WHERE s.score > u.karma)
SELECT id FROM users u WHERE NOT EXISTS (SELECT 1 FROM stories s WHERE s.score > u.karma)
SELECT id FROM users u WHERE EXISTS (SELECT count(*) FROM stories s WHERE s.author = u.id)
SELECT id FROM users u WHERE EXISTS (SELECT 1 FROM stories s WHERE s.author = u.id LIMIT 1)
SELECT id FROM users u WHERE EXISTS (SELECT 1 FROM stories s WHERE s.author = u.id OFFSET 1)
SELECT name FROM users WHERE id IN (SELECT author FROM stories WHERE score > 1)
SELECT name FROM users WHERE karma NOT IN (SELECT score FROM stories)
SELECT name FROM users WHERE karma NOT IN (SELECT score FROM stories WHERE score IS NOT NULL)
SELECT id FROM users WHERE karma NOT IN (SELECT score FROM stories WHERE id > 100)
SELECT id FROM users WHERE id NOT IN (SELECT author FROM stories WHERE author IS NOT NULL)
SELECT id FROM users u WHERE karma NOT IN (SELECT score FROM stories s WHERE s.author = u.id)
SELECT id FROM users u WHERE (id, karma) IN (SELECT author, score FROM stories)
SELECT id FROM users u WHERE (id, karma) NOT IN (SELECT author, score FROM stories)
SELECT id FROM users WHERE karma > ALL (SELECT score FROM stories WHERE author = 1)
SELECT id FROM users WHERE karma >= ALL (SELECT score FROM stories)
SELECT id, karma IN (SELECT score FROM stories) FROM users
SELECT id, karma NOT IN (SELECT score FROM stories) FROM users
SELECT id, karma > ANY (SELECT score FROM stories s WHERE s.author = u.id) FROM users u
SELECT id, karma = ALL (SELECT score FROM stories s WHERE s.author = u.id) FROM users u
SELECT id FROM users WHERE id IN (SELECT author FROM stories ORDER BY score LIMIT 2)
SELECT id FROM users WHERE (karma IN (SELECT score FROM stories)) IS NULL
SELECT title, (SELECT name FROM users u WHERE u.id = s.author) FROM stories s
SELECT title, (SELECT name FROM users u WHERE u.id = s.author AND u.karma > 5) FROM stories s WHERE s.id = 1
SELECT title, (SELECT max(vote) FROM votes v WHERE v.story_id = s.id), (SELECT count(*) FROM votes v WHERE v.story_id = s.id) FROM stories s
SELECT title, (SELECT coalesce(sum(vote), -7) + count(*) FROM votes v WHERE v.story_id = s.id) FROM stories s
SELECT name FROM users WHERE karma = (SELECT max(karma) FROM users)
SELECT name FROM users WHERE id = (SELECT author FROM stories WHERE id = 5)
SELECT name FROM users WHERE id = (SELECT author FROM stories WHERE id = 99)
SELECT name, (SELECT name FROM users WHERE id = 99) FROM users
SELECT name, (SELECT id FROM stories) FROM users
SELECT name, (SELECT s.id FROM stories s WHERE s.author = u.id) FROM users u
SELECT CASE WHEN karma = 3 THEN (SELECT title FROM stories s WHERE s.author = u.id) END FROM users u
SELECT CASE WHEN id > 100 THEN (SELECT id FROM stories) ELSE 0 END FROM users u
SELECT CASE WHEN id = 1 THEN (SELECT count(*) FROM stories s WHERE s.author = u.id) WHEN EXISTS (SELECT 1 FROM votes v WHERE v.user_id = u.id) THEN -1 ELSE (SELECT max(id) FROM tags) END FROM users u
SELECT name, EXISTS (SELECT 1 FROM stories), EXISTS (SELECT 1 FROM stories WHERE id > 100) FROM users u
SELECT id FROM users u WHERE karma > 5 OR EXISTS (SELECT 1 FROM stories s WHERE s.author = u.id AND s.score IS NULL)
SELECT id, ARRAY(SELECT title FROM stories s WHERE s.author = u.id ORDER BY id DESC) FROM users u
SELECT id, ARRAY(SELECT title || u.id::text FROM stories s WHERE s.author = u.id ORDER BY score LIMIT 1) FROM users u
SELECT ARRAY(SELECT id FROM tags ORDER BY tag)
SELECT array_agg(x.id) FROM (SELECT id FROM stories ORDER BY score DESC NULLS LAST, id) x
SELECT string_agg(title, ',' ORDER BY score, id) FROM stories
SELECT u.id, (SELECT (SELECT count(*) FROM votes v WHERE v.story_id = s.id AND v.user_id <> u.id) FROM stories s WHERE s.author = u.id ORDER BY s.id LIMIT 1) FROM users u
SELECT u.id FROM users u WHERE EXISTS (SELECT 1 FROM stories s WHERE s.author = u.id AND EXISTS (SELECT 1 FROM votes v WHERE v.story_id = s.id AND v.user_id = u.id))
SELECT u.id FROM users u WHERE (SELECT count(*) FROM stories s WHERE s.author = u.id) = 0
SELECT u.id, x.c FROM users u, LATERAL (SELECT count(*) AS c FROM stories s WHERE s.author = u.id GROUP BY s.score) x
SELECT DISTINCT author FROM stories
SELECT DISTINCT weight > 1 FROM stories
SELECT DISTINCT ON (author) author, title FROM stories ORDER BY author, score DESC, id
SELECT author, count(*), sum(score), avg(score), min(title) FROM stories GROUP BY author
SELECT author, count(DISTINCT score) FROM stories GROUP BY author HAVING count(*) > 1
SELECT count(*), sum(score) FROM stories WHERE id > 100
SELECT count(*) FILTER (WHERE score > 3) FROM stories
SELECT 1 FROM stories HAVING count(*) > 100
SELECT count(*) FROM (SELECT 1 FROM users WHERE false) x
SELECT author FROM stories EXCEPT SELECT id FROM users
SELECT author FROM stories EXCEPT ALL SELECT id FROM users
SELECT author FROM stories INTERSECT SELECT id FROM users
SELECT karma FROM users INTERSECT ALL SELECT score FROM stories
SELECT karma FROM users INTERSECT SELECT score FROM stories
SELECT id FROM users UNION SELECT author FROM stories
SELECT x.id FROM (SELECT id FROM users UNION ALL SELECT author FROM stories) x WHERE x.id = 4
SELECT u.id, x.* FROM users u, LATERAL (SELECT score FROM stories s WHERE s.author = u.id EXCEPT SELECT u.karma) x
SELECT u.id, x.* FROM users u, LATERAL (SELECT score FROM stories s WHERE s.author = u.id INTERSECT ALL SELECT 7) x
SELECT * FROM (SELECT id, title FROM stories ORDER BY score DESC NULLS LAST, id LIMIT 3) x
SELECT * FROM (SELECT id, title FROM stories ORDER BY id LIMIT 3) x WHERE x.id > 1
SELECT id FROM stories ORDER BY score NULLS FIRST, id DESC LIMIT 4 OFFSET 1
WITH a AS (SELECT id FROM users WHERE karma = 3) SELECT a.id, b.id FROM a JOIN a b ON a.id <> b.id
WITH a AS (SELECT author, count(*) AS n FROM stories GROUP BY author) SELECT u.id, (SELECT n FROM a WHERE a.author = u.id) FROM users u
SELECT u.id, (WITH w AS (SELECT score FROM stories s WHERE s.author = u.id) SELECT count(*) FROM w a, w b) FROM users u
SELECT u.id, x.n FROM users u, LATERAL (WITH w AS (SELECT score FROM stories s WHERE s.author = u.id) SELECT (SELECT max(score) FROM w) AS n) x
WITH RECURSIVE tree AS (SELECT id, parent FROM comments WHERE id = 1 UNION ALL SELECT c.id, c.parent FROM comments c JOIN tree t ON c.parent = t.id) SELECT * FROM tree
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT sum(i) FROM n
WITH RECURSIVE n AS (SELECT 1 AS i UNION SELECT (i * 2) % 7 FROM n) SELECT i FROM n
SELECT u.id, (WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < u.id) SELECT sum(i) FROM n) FROM users u
SELECT c.id, (WITH RECURSIVE up AS (SELECT parent FROM comments x WHERE x.id = c.id UNION ALL SELECT x.parent FROM comments x JOIN up ON x.id = up.parent) SELECT count(parent) FROM up) FROM comments c
SELECT id, row_number() OVER (PARTITION BY author ORDER BY id), sum(score) OVER (ORDER BY id) FROM stories
SELECT u.id, x.r FROM users u, LATERAL (SELECT rank() OVER (ORDER BY score) AS r FROM stories s WHERE s.author = u.id) x
SELECT * FROM (SELECT id, author, row_number() OVER (PARTITION BY author ORDER BY id DESC) AS r FROM stories) x WHERE r = 1 AND author = 1
SELECT v.id FROM (SELECT s.id, (SELECT count(*) FROM votes v WHERE v.story_id = s.id) AS n FROM stories s) v WHERE v.id = 1 AND v.n = 3
SELECT s.id, s.weight, (SELECT count(*) FROM stories t WHERE t.weight = s.weight) FROM stories s
SELECT c.id FROM users u JOIN stories s ON s.author = u.id JOIN comments c ON c.author = u.id WHERE s.id = 5
SELECT u.id FROM users u LEFT JOIN stories s ON s.author = u.id LEFT JOIN votes v ON v.story_id = s.id WHERE v.vote IS NULL
SELECT u.id, s.id FROM users u LEFT JOIN (stories s JOIN votes v ON v.story_id = s.id AND v.user_id = 4) ON s.author = u.id
SELECT u.id FROM users u WHERE u.id IN (SELECT s.author FROM stories s JOIN votes v ON v.story_id = s.id WHERE v.user_id = u.id)
SELECT a.n, b.n FROM (SELECT count(*) AS n FROM users) a, (SELECT count(*) AS n FROM stories) b
SELECT u.id FROM users u LEFT JOIN LATERAL (SELECT 1 AS one FROM stories s WHERE s.author = u.id) x ON EXISTS (SELECT 1 FROM votes v WHERE v.user_id = u.id) WHERE x.one IS NULL
SELECT t.id FROM tags t WHERE t.tag IN ('rust', 'db') AND EXISTS (SELECT 1 FROM taggings g WHERE g.tag_id = t.id AND g.story_id IN (SELECT id FROM stories WHERE author = 1))
SELECT s.author, x.k FROM stories s JOIN LATERAL (SELECT karma AS k FROM users u WHERE u.id = s.author) x ON x.k > 3
SELECT count(*), x.b FROM users u, LATERAL (SELECT u.karma > 3 AS b) x GROUP BY x.b
SELECT id, unnest(ARRAY[id, karma]) FROM users WHERE id < 3
SELECT (SELECT u.name) FROM users u
SELECT (SELECT u.name WHERE u.id = 1) FROM users u
SELECT u.id FROM users u WHERE u.karma = (SELECT avg(score) FROM stories s WHERE s.author = u.id) OR u.id = (SELECT min(id) FROM users)
VALUES (1, 'a'), (2, 'b')
SELECT x.a FROM (VALUES (1), (2), (NULL)) x(a) WHERE x.a NOT IN (SELECT karma FROM users WHERE karma IS NOT NULL)
SELECT x.a FROM (VALUES (3), (2), (NULL)) x(a) WHERE x.a NOT IN (VALUES (2), (NULL))
SELECT x.a FROM (VALUES (3), (2), (NULL)) x(a) WHERE x.a IN (VALUES (2), (NULL))
SELECT name FROM users WHERE id IN (SELECT author FROM stories WHERE id = 5)
SELECT name FROM users WHERE id IN (SELECT author + 1 FROM stories WHERE author = 1)
SELECT x.id FROM (SELECT id FROM users ORDER BY karma LIMIT 3) x
SELECT id FROM ballots WHERE user_id = 1 AND story_id = 1 AND comment_id = 2
SELECT id FROM ballots WHERE user_id = 1 AND story_id = 1 AND comment_id IS NULL
SELECT id FROM ballots WHERE user_id = 1 AND comment_id IS NULL AND story_id IN (1, 2, NULL)
SELECT id FROM ballots WHERE user_id = 1 AND story_id = 1
SELECT id FROM ballots WHERE user_id IS NULL
SELECT id FROM ballots WHERE user_id IS NULL AND story_id = 2
SELECT id FROM ballots WHERE (user_id = 2 OR user_id IS NULL) AND story_id IS NULL AND comment_id IN (1, 2)
SELECT id FROM ballots WHERE story_id IS NULL AND comment_id IS NULL
SELECT id FROM ballots WHERE story_id IS NULL AND comment_id = 1
SELECT id FROM ballots WHERE user_id = 1 AND story_id = ANY (ARRAY[1, 2, 2, NULL]) AND comment_id = 1
SELECT id FROM ballots WHERE user_id = NULL AND story_id = 1 AND comment_id = 1
SELECT id FROM ballots WHERE user_id = 1 AND story_id = 2 AND comment_id > 5
SELECT id FROM ballots WHERE user_id IN (1, 2) AND story_id IN (1, 2) AND comment_id > 0
SELECT id FROM ballots WHERE story_id = 2 AND comment_id = 5 AND user_id = 2 AND id = 10
SELECT id FROM ballots WHERE user_id = nullif(1, 1) AND story_id = 1 AND comment_id = 1
SELECT id FROM shelves WHERE user_id = 1 AND story_id = 1 AND comment_id = 2
SELECT id FROM shelves WHERE user_id = 1 AND story_id = 1 AND comment_id IS NULL
SELECT id FROM shelves WHERE user_id = 1 AND comment_id IS NULL AND story_id IN (1, 2, NULL)
SELECT id FROM shelves WHERE user_id = 1 AND story_id = 1
SELECT id FROM shelves WHERE user_id IS NULL
SELECT id FROM shelves WHERE user_id IS NULL AND story_id = 2
SELECT id FROM shelves WHERE (user_id = 2 OR user_id IS NULL) AND story_id IS NULL AND comment_id IN (1, 2)
SELECT id FROM shelves WHERE story_id IS NULL AND comment_id IS NULL
SELECT id FROM shelves WHERE story_id IS NULL AND comment_id = 1
SELECT id FROM shelves WHERE user_id = 1 AND story_id = ANY (ARRAY[1, 2, 2, NULL]) AND comment_id = 1
SELECT id FROM shelves WHERE user_id = NULL AND story_id = 1 AND comment_id = 1
SELECT id FROM shelves WHERE user_id = 1 AND story_id = 2 AND comment_id > 5
SELECT id FROM shelves WHERE user_id IN (1, 2) AND story_id IN (1, 2) AND comment_id > 0
SELECT id FROM shelves WHERE story_id = 2 AND comment_id = 5 AND user_id = 2 AND id = 10
SELECT id FROM shelves WHERE user_id = nullif(1, 1) AND story_id = 1 AND comment_id = 1
SELECT id, (id, karma) IN (SELECT author, score FROM stories) FROM users
SELECT id, (karma, name) NOT IN (SELECT score, title FROM stories) FROM users
SELECT id, karma IN (SELECT score FROM stories s WHERE s.author = u.id) FROM users u
SELECT id, score IN (SELECT karma FROM users u WHERE u.id = s.author OR u.id = 2) FROM stories s
SELECT id FROM users WHERE karma IN (SELECT score FROM stories) OR id IN (SELECT story_id FROM taggings)
SELECT count(*) FILTER (WHERE karma IN (SELECT score FROM stories)), count(*) FILTER (WHERE karma NOT IN (SELECT score FROM stories)) FROM users
SELECT id, CASE WHEN karma > 3 THEN karma IN (SELECT score FROM stories) WHEN id > 2 THEN EXISTS (SELECT FROM votes v WHERE v.user_id = u.id) END FROM users u
SELECT id, CASE WHEN karma <> 3 THEN 30 / (karma - 3) IN (SELECT score FROM stories) END FROM users
SELECT id, (SELECT max(score) FROM stories s WHERE s.author = u.id) IN (SELECT karma FROM users) FROM users u
SELECT id, karma NOT IN (SELECT score FROM stories s WHERE s.author = u.id ORDER BY id LIMIT 1) FROM users u
SELECT id FROM users u WHERE karma NOT IN (SELECT score FROM stories s WHERE s.author = u.id ORDER BY id LIMIT 1)
SELECT id, NULL IN (SELECT score FROM stories s WHERE s.author = u.id) FROM users u
SELECT id, weight IN (SELECT karma FROM users) FROM stories
SELECT u.id, s.id FROM users u JOIN stories s ON u.karma BETWEEN s.score AND s.score + 3
SELECT u.id, s.id FROM users u LEFT JOIN stories s ON s.score < u.karma AND s.score > u.karma - 4
SELECT id FROM users u WHERE EXISTS (SELECT FROM stories s WHERE s.score > u.karma)
SELECT id FROM users u WHERE NOT EXISTS (SELECT FROM stories s WHERE s.score > u.karma AND s.author = u.id)
SELECT id, (SELECT max(score) FROM stories s WHERE s.score < u.karma) FROM users u
SELECT id, (SELECT min(score) FROM stories s WHERE s.score >= u.karma AND s.author = u.id) FROM users u
SELECT id, (SELECT s.title FROM stories s WHERE s.score <= u.karma ORDER BY s.score DESC, s.id LIMIT 1) FROM users u
SELECT id, (SELECT s.title FROM stories s WHERE s.id > u.id ORDER BY s.id LIMIT 1 OFFSET 1) FROM users u
SELECT id, (SELECT max(s.score) FROM stories s JOIN users w ON w.id = s.author WHERE s.score < u.karma) FROM users u
SELECT id, (SELECT count(*) FROM stories s WHERE s.score < u.karma) FROM users u
SELECT id, karma <> ALL (SELECT score FROM stories) FROM users
SELECT id FROM users u WHERE karma <> ALL (SELECT score FROM stories s WHERE s.author = u.id)
SELECT id FROM users u WHERE (id, karma) <> ALL (SELECT author, score FROM stories WHERE score IS NOT NULL)
SELECT id FROM users u WHERE (SELECT max(score) FROM stories s WHERE s.author = u.id) IN (SELECT score FROM stories)
SELECT id, to_tsvector('english', title) FROM stories ORDER BY id
SELECT id FROM comments WHERE to_tsvector('simple', body) @@ to_tsquery('simple', 'root | re:*')
SELECT id FROM comments WHERE body @@ 'reply'
SELECT to_tsvector('english', body) AS v, count(*) FROM comments GROUP BY v
SELECT DISTINCT to_tsquery('simple', title) && 'x' FROM stories
SELECT a.id, b.id FROM stories a JOIN stories b ON to_tsvector(a.title) = to_tsvector(b.title)
SELECT max(id) FROM stories WHERE to_tsvector('simple', title) > 'six:1'::tsvector
SELECT title FROM stories ORDER BY to_tsvector('simple', title), id
SELECT title FROM stories ORDER BY title::tsquery DESC, id
SELECT s.id, lexeme, positions, weights FROM stories s, unnest(setweight(to_tsvector('english', s.title || ' stories'), 'B')) WHERE s.id < 3
SELECT tokid, token FROM ts_parse('default', 'a well-known http://x.com/y?z=1 <b>1.5</b> &amp; -3')
SELECT alias, description FROM ts_token_type('default') WHERE tokid IN (1, 4, 5, 23)
SELECT id, ts_rank(to_tsvector('english', title), q) FROM stories, to_tsquery('english', 'two | three') q WHERE to_tsvector('english', title) @@ q
SELECT count(*) FROM generate_series(1, 200) n WHERE to_tsvector('simple', n::text || ' x') @@ to_tsquery('simple', '1:* & x')
SELECT length(string_agg('word' || n || ':1', ' ')::tsvector) FROM generate_series(1, 100000) n
SELECT length(string_agg('w' || n || ':1', ' ')::tsvector) FROM generate_series(1, 5000) n
SELECT numnode(string_agg('w' || n, ' & ')::tsquery) FROM generate_series(1, 20000) n
SELECT percentile_disc(ARRAY[[NULL,1,0.5],[0.75,0.25,NULL]]) WITHIN GROUP (ORDER BY x) FROM generate_series(1, 10) x
SELECT ARRAY(SELECT '11 22 33'::int2vector FROM generate_series(1, 2))
SELECT x FROM unnest(ARRAY(SELECT '11 22 33'::int2vector FROM generate_series(1, 2))) x
SELECT ARRAY(SELECT ''::oidvector)
SELECT array_agg('{}'::int[]) FROM generate_series(1, 2)
