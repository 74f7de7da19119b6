"""What views.py works on: the schema, the definitions, parameterised queries, and random changes.

Every definition has one right answer: LIMIT, numbering and DISTINCT ON sort by a key.
"""
import psycopg

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, name TEXT, joined DATE, score INT, city TEXT)",
    "CREATE TABLE categories (id INT PRIMARY KEY, name TEXT, parent INT)",
    "CREATE TABLE tags (id INT PRIMARY KEY, word TEXT, story INT)",
    """CREATE TABLE stories (id INT PRIMARY KEY, title TEXT, author INT NOT NULL OWNED_BY users(id), category INT,
       points NUMERIC(8,2), weight NUMERIC, created TIMESTAMP, labels TEXT[])""",
    "CREATE TABLE votes (id INT PRIMARY KEY, voter INT NOT NULL OWNED_BY users(id), story INT, value INT)",
    """CREATE TABLE comments (id INT PRIMARY KEY, author INT NOT NULL OWNED_BY users(id), story INT, parent INT ACCESSED_BY comments(id),
       body TEXT)""",
    """CREATE TABLE memberships (id INT PRIMARY KEY, a INT OWNED_BY users(id), b INT OWNED_BY users(id), level INT, note TEXT,
       ON DEL a ANON (a, note), ON DEL b ANON (b))""",
    "CREATE INDEX ON stories (author)",
    "CREATE INDEX ON votes (voter)",
]

FIXED = {
    "inner2": "SELECT s.id, s.title, u.name FROM stories s JOIN users u ON u.id = s.author",
    "inner3": """SELECT v.id, s.title, u.city, w.name FROM votes v JOIN stories s ON s.id = v.story JOIN users u ON u.id = v.voter
        JOIN users w ON w.id = s.author WHERE v.value <> 0""",
    "inner_other_key": "SELECT t.id, t.word, c.name FROM tags t JOIN stories s ON s.id = t.story JOIN categories c ON c.id = s.category",
    "self_join": "SELECT a.id, b.id AS other FROM users a JOIN users b ON b.city = a.city AND a.id < b.id",
    "cross": "SELECT c.id, t.n FROM categories c CROSS JOIN (SELECT count(*) AS n FROM tags) t",
    "inequality": "SELECT a.id, b.id AS other FROM stories a JOIN stories b ON a.points > b.points AND a.category = b.category",
    "factors": """SELECT s.id, v.id AS vote FROM stories s, votes v WHERE (s.id = v.story AND v.value > 0 AND s.points > 20)
        OR (s.id = v.story AND v.value < 0 AND s.points < 60) OR (s.id = v.story AND s.category IS NULL)""",
    "factors_left": """SELECT u.id, s.id AS story FROM users u LEFT JOIN stories s ON (s.author = u.id AND s.points > 40)
        OR (s.author = u.id AND u.score > 10 AND s.category = 1)""",
    "factors_exists": """SELECT s.id FROM stories s WHERE NOT EXISTS (SELECT 1 FROM votes v WHERE (v.story = s.id AND v.value > 0)
        OR (v.story = s.id AND s.points > 30 AND v.value < 0))""",
    "factors_having": """SELECT category, count(*) AS n FROM stories GROUP BY category HAVING (category > 1 AND count(*) > 2)
        OR (category > 1 AND min(points) < 20)""",
    "other_types": "SELECT id, joined, score FROM users WHERE joined < TIMESTAMP '2024-06-01 12:00' OR score > 10.5 OR score < 3::float8",
    "left_join": "SELECT u.id, u.name, s.id AS story FROM users u LEFT JOIN stories s ON s.author = u.id",
    "left_extra": """SELECT u.id, s.id AS story, v.id AS vote FROM users u LEFT JOIN stories s ON s.author = u.id AND s.points > 40
        AND u.score > 10 LEFT JOIN votes v ON v.story = s.id AND v.value > 0""",
    "left_where": "SELECT s.id FROM stories s LEFT JOIN comments c ON c.story = s.id WHERE c.id IS NULL",
    "left_count": "SELECT s.id, count(v.id) AS n, coalesce(sum(v.value), 0) AS s FROM stories s LEFT JOIN votes v ON v.story = s.id GROUP BY s.id",
    "left_unindexed": """SELECT v.voter, count(*) AS n FROM votes v JOIN stories s ON s.id = v.story JOIN comments c ON c.story = v.story
        LEFT JOIN comments p ON p.id = c.parent WHERE p.author = v.voter OR (p.author IS NULL AND s.author = v.voter) GROUP BY v.voter""",
    "left_grouped": """SELECT g.author, g.n, u.name, u.city FROM (SELECT author, count(*) AS n FROM comments GROUP BY author HAVING count(*) > 1) g
        LEFT JOIN users u ON u.id = g.author AND u.score > g.n""",
    "exists_grouped": """SELECT g.story, g.n FROM (SELECT story, count(*) AS n FROM votes GROUP BY story) g
        WHERE EXISTS (SELECT 1 FROM stories s WHERE s.id = g.story AND s.points > g.n * 10)""",
    "not_exists_grouped": """SELECT g.story, g.s FROM (SELECT story, sum(value) AS s FROM votes GROUP BY story) g
        WHERE NOT EXISTS (SELECT 1 FROM stories s WHERE s.id = g.story)""",
    "right_join": "SELECT v.id, s.id AS story FROM votes v RIGHT JOIN stories s ON s.id = v.story",
    "full_join": "SELECT t.id, t.word, c.id AS comment, c.body FROM tags t FULL JOIN comments c ON c.story = t.story",
    "exists": "SELECT u.id, u.name FROM users u WHERE EXISTS (SELECT 1 FROM votes v WHERE v.voter = u.id AND v.value > 0)",
    "not_exists": """SELECT s.id, s.title FROM stories s WHERE NOT EXISTS (SELECT 1 FROM votes v WHERE v.story = s.id AND v.voter = s.author)""",
    "in_list": "SELECT id, word FROM tags WHERE story IN (SELECT id FROM stories WHERE points > 30)",
    "not_in": "SELECT id FROM categories WHERE id NOT IN (SELECT category FROM stories WHERE category IS NOT NULL)",
    "not_in_nulls": "SELECT id FROM users WHERE id NOT IN (SELECT a FROM memberships WHERE level > 5)",
    "exists_or": "SELECT id FROM users u WHERE score > 80 OR EXISTS (SELECT 1 FROM stories s WHERE s.author = u.id)",
    "scalar": "SELECT s.id, (SELECT count(*) FROM votes v WHERE v.story = s.id) AS n, (SELECT max(word) FROM tags t WHERE t.story = s.id) AS w FROM stories s",
    "scalar_where": "SELECT id, score FROM users WHERE score > (SELECT avg(score) FROM users)",
    "quantified": "SELECT id FROM users WHERE score >= ALL (SELECT score FROM users WHERE score IS NOT NULL)",
    "grouped": """SELECT category, count(*) AS n, count(weight) AS nn, sum(points) AS s, sum(weight) AS w, avg(points) AS a, min(points) AS l, max(title) AS m
        FROM stories GROUP BY category""",
    "lists": """SELECT author, string_agg(title, ',' ORDER BY id DESC) AS titles, array_agg(points ORDER BY points, id) AS points,
        array_agg(id ORDER BY title, id) AS ids FROM stories GROUP BY author""",
    "distinct_filter": """SELECT story, count(DISTINCT voter) AS voters, count(*) FILTER (WHERE value > 0) AS up, sum(value) FILTER (WHERE value < 0) AS down,
        bool_and(value > 0) AS every, bool_or(value > 1) AS some, sum(DISTINCT value) AS different FROM votes GROUP BY story""",
    "sums": """SELECT category, sum(points::float8 / 3) AS f, avg(weight::float4) AS a, sum(weight) AS w, avg(weight) AS m, stddev(points) AS d, var_pop(weight::float8) AS v,
        corr(points, weight) AS c, sum(created - timestamp '2024-01-01') AS i, avg(created - timestamp '2024-02-03 04:05') AS j, bit_xor(id) AS x FROM stories GROUP BY category""",
    "sums_global": """SELECT sum(points / 3) AS s, sum(1 / (points::float8 + 1)) AS f, stddev_pop(weight) AS d, regr_slope(points, id) AS r, bit_and(id) AS b,
        sum(points * interval '1 hour') FILTER (WHERE points > 20) AS i FROM stories""",
    "distinct_sums": """SELECT author, count(DISTINCT points) AS n, sum(DISTINCT weight) AS s, avg(DISTINCT points::float8 / 3) AS a, count(DISTINCT (category, points)) AS p,
        count(DISTINCT title) FILTER (WHERE points > 20) AS f, sum(DISTINCT points) FILTER (WHERE points > 20) AS g, count(*) AS k, max(points) AS m FROM stories GROUP BY author""",
    "distinct_alone": "SELECT category, count(DISTINCT author) FILTER (WHERE points > 30) AS n FROM stories GROUP BY category",
    "distinct_joined": """SELECT s.author, count(DISTINCT v.voter) AS n, sum(DISTINCT s.points) AS s, min(v.id) AS l FROM stories s LEFT JOIN votes v ON v.story = s.id GROUP BY s.author""",
    "distinct_global": "SELECT count(DISTINCT title) AS t, sum(DISTINCT points) AS s, bit_xor(DISTINCT category) AS b, count(DISTINCT weight) AS w, stddev(DISTINCT weight) AS d FROM stories",
    "distinct_lists": "SELECT story, string_agg(DISTINCT body, ',' ORDER BY body) AS b, count(DISTINCT author) AS a, sum(id / 7.0) AS s FROM comments GROUP BY story",
    "having": "SELECT u.city, count(*) AS n FROM users u JOIN stories s ON s.author = u.id GROUP BY u.city HAVING count(*) > 2 AND min(s.points) < 50",
    "global": "SELECT count(*) AS n, sum(value) AS s, max(value) AS m, avg(value) AS a, count(DISTINCT story) AS d FROM votes",
    "global_empty": "SELECT count(*) AS n, sum(points) AS s, min(title) AS t FROM stories WHERE points > 97",
    "sets_of_groups": "SELECT city, score % 3 AS rest, count(*) AS n FROM users GROUP BY GROUPING SETS ((city), (city, score % 3), ())",
    "distinct": "SELECT DISTINCT category, author % 3 AS rest FROM stories",
    "distinct_on": "SELECT DISTINCT ON (author) author, id, title, points FROM stories ORDER BY author, points DESC NULLS LAST, id",
    "union": "SELECT author AS who FROM stories UNION SELECT voter FROM votes UNION SELECT a FROM memberships",
    "union_all": "SELECT 's' AS kind, id FROM stories UNION ALL SELECT 'v', story FROM votes UNION ALL SELECT 'v', 1 FROM tags",
    "intersect": "SELECT author FROM stories INTERSECT SELECT voter FROM votes",
    "intersect_all": "SELECT author FROM stories INTERSECT ALL SELECT voter FROM votes",
    "except": "SELECT id FROM users EXCEPT SELECT author FROM comments",
    "except_all": "SELECT story FROM votes EXCEPT ALL SELECT story FROM comments",
    "top": "SELECT id, title, points FROM stories ORDER BY points DESC NULLS LAST, id LIMIT 7",
    "top_offset": "SELECT id, score FROM users ORDER BY score, id LIMIT 5 OFFSET 3",
    "top_joined": "SELECT s.id, count(*) AS n FROM stories s JOIN votes v ON v.story = s.id GROUP BY s.id ORDER BY n DESC, s.id LIMIT 5",
    "top_wide": "SELECT * FROM stories ORDER BY points DESC NULLS LAST, id LIMIT 7",
    "top_wide_joined": """SELECT s.*, u.name, u.city, c.name AS category_name FROM stories s JOIN users u ON u.id = s.author
        LEFT JOIN categories c ON c.id = s.category WHERE s.weight IS NOT NULL ORDER BY s.points, s.id LIMIT 6 OFFSET 1""",
    "top_wide_exists": """SELECT s.*, length(s.title) AS length FROM stories s
        WHERE EXISTS (SELECT 1 FROM votes v WHERE v.story = s.id AND v.value > 0) ORDER BY s.id DESC LIMIT 5""",
    "top_wide_computed": "SELECT m.*, upper(note) AS loud, level * 2 AS twice FROM memberships m ORDER BY level * 2 DESC NULLS LAST, id LIMIT 6",
    "first_wide": "SELECT DISTINCT ON (author) * FROM stories ORDER BY author, points DESC NULLS LAST, id",
    "first_wide_joined": """SELECT DISTINCT ON (u.city) u.city, s.*, u.score FROM stories s JOIN users u ON u.id = s.author
        ORDER BY u.city, s.created DESC NULLS LAST, s.id""",
    "lateral": """SELECT u.id, l.id AS story, l.points FROM users u CROSS JOIN LATERAL (SELECT s.id, s.points FROM stories s WHERE s.author = u.id
        ORDER BY s.points DESC NULLS LAST, s.id LIMIT 2) l""",
    "lateral_left": """SELECT u.id, l.body FROM users u LEFT JOIN LATERAL (SELECT c.body FROM comments c WHERE c.author = u.id ORDER BY c.id DESC LIMIT 1) l ON true""",
    "window": """SELECT id, author, row_number() OVER (PARTITION BY author ORDER BY points DESC, id) AS r, rank() OVER (ORDER BY points) AS place,
        sum(points) OVER (PARTITION BY category) AS total FROM stories""",
    "window_running": """SELECT id, sum(value) OVER (PARTITION BY story ORDER BY id) AS running, lag(value) OVER (PARTITION BY story ORDER BY id) AS before,
        first_value(id) OVER (PARTITION BY story ORDER BY id DESC) AS latest FROM votes""",
    "window_first": "SELECT id, author FROM (SELECT id, author, row_number() OVER (PARTITION BY author ORDER BY points, id) AS r FROM stories) x WHERE r <= 2",
    "recursive": """WITH RECURSIVE below(root, id) AS (SELECT id, id FROM comments WHERE parent IS NULL
        UNION SELECT b.root, c.id FROM below b JOIN comments c ON c.parent = b.id) SELECT root, id FROM below""",
    "recursive_sums": """WITH RECURSIVE below(root, id) AS (SELECT id, id FROM categories UNION SELECT b.root, c.id FROM below b JOIN categories c ON c.parent = b.id)
        SELECT b.root, count(*) AS n, sum(s.points) AS points FROM below b LEFT JOIN stories s ON s.category = b.id GROUP BY b.root""",
    "recursive_all": """WITH RECURSIVE steps(id, depth) AS (SELECT id, 0 FROM comments UNION ALL SELECT c.parent, depth + 1 FROM steps s
        JOIN comments c ON c.id = s.id WHERE depth < 4 AND c.parent IS NOT NULL) SELECT id, max(depth) AS depth, count(*) AS n FROM steps GROUP BY id""",
    "cte_twice": """WITH t AS (SELECT author, count(*) AS n FROM stories GROUP BY author)
        SELECT a.author, b.author AS other FROM t a JOIN t b ON b.n = a.n AND a.author < b.author""",
    "cte": "WITH busy AS MATERIALIZED (SELECT voter FROM votes GROUP BY voter HAVING count(*) > 2) SELECT u.id, u.name FROM users u JOIN busy ON busy.voter = u.id",
    "series": "SELECT u.id, g FROM users u CROSS JOIN generate_series(1, 3) AS g WHERE u.score % 3 = g - 1",
    "series_lateral": "SELECT v.id, g FROM votes v, generate_series(1, v.value) AS g",
    "unnest": "SELECT s.id, l FROM stories s, unnest(s.labels) AS l",
    "unnest_count": "SELECT l, count(*) AS n FROM stories s, unnest(s.labels) AS l GROUP BY l",
    "cases": """SELECT id, CASE WHEN points > 60 THEN 'high' WHEN points IS NULL THEN 'none' ELSE 'low' END AS k, coalesce(weight, points, 0) AS w,
        nullif(category, 2) AS c, greatest(points, weight) AS g FROM stories""",
    "functions": """SELECT id, upper(name) || '-' || length(name) AS n, date_trunc('month', joined) AS m, extract(year FROM joined) AS y, joined + 7 AS later,
        substr(name, 2, 3) AS part, name LIKE '%a%' AS a, score / 7.0 AS seventh, to_char(joined, 'YYYY-MM') AS t FROM users""",
    "by_month": "SELECT date_trunc('month', created) AS month, count(*) AS n, max(created) AS last FROM stories GROUP BY date_trunc('month', created)",
    "two_owners": """SELECT m.id, x.name, y.name AS other, m.note FROM memberships m LEFT JOIN users x ON x.id = m.a LEFT JOIN users y ON y.id = m.b""",
    "json": "SELECT author, jsonb_agg(title ORDER BY id)::text AS titles, (jsonb_build_object('n', count(*)))::text AS o FROM stories GROUP BY author",
    "tag_words": "SELECT id, word FROM tags WHERE word IS NOT NULL",
    "values": "SELECT c.id, k.label FROM categories c JOIN (VALUES (1, 'one'), (2, 'two'), (3, 'three')) AS k(id, label) ON k.id = c.id",
    "over_view": "SELECT w.id, w.word, s.n FROM m_tag_words w JOIN p_left_count s ON s.id = w.id % 20",
    "over_views": "SELECT g.n, count(*) AS m, sum(c.n) AS total FROM m_left_count c JOIN m_having g ON g.n >= c.n GROUP BY g.n",
    "over_view_and_table": "SELECT u.id, d.id AS story FROM users u LEFT JOIN m_distinct_on d ON d.author = u.id AND d.points > 20",
    "over_twice": "SELECT x.n AS a, y.n AS b FROM m_over_views x FULL JOIN m_over_views y ON x.n = y.n + 1",
    "nothing": "SELECT id FROM users WHERE false",
    "constant": "SELECT 1 AS one, 'x' AS x",
    "no_column": "SELECT a.n, b.n AS m FROM (SELECT count(*) AS n FROM votes) a, (SELECT count(*) AS n FROM comments HAVING count(*) > 10) b",
}


def number(least, most):
    return lambda dice: dice.randint(least, most)


USER, STORY, CITY, POINTS = number(0, 45), number(0, 70), lambda dice: dice.choice(CITIES + ["nowhere"]), number(0, 100)
USERS = lambda dice: [dice.randint(0, 45) for _ in range(dice.randint(0, 4))]  # noqa: E731

AUTOMATIC = [
    ("SELECT count(*), sum(value) FROM votes WHERE story = %s", (STORY,)),
    ("SELECT count(*) FROM stories WHERE author = %s AND category = %s", (USER, number(0, 6))),
    ("SELECT u.name, s.title, s.points FROM users u JOIN stories s ON s.author = u.id WHERE u.id = %s", (USER,)),
    ("SELECT u.name, count(s.id), max(s.points) FROM users u LEFT JOIN stories s ON s.author = u.id WHERE u.id = %s GROUP BY u.id, u.name", (USER,)),
    ("SELECT s.author, count(*), sum(v.value) FROM stories s JOIN votes v ON v.story = s.id WHERE s.author = %s GROUP BY s.author", (USER,)),
    ("SELECT id, title, points FROM stories WHERE category = %s ORDER BY points DESC NULLS LAST, id LIMIT 3", (number(0, 6),)),
    ("SELECT id, points FROM stories WHERE category = %s ORDER BY points, id LIMIT 2 OFFSET 1", (number(0, 6),)),
    ("SELECT s.id FROM stories s JOIN users u ON u.id = s.author WHERE u.city = %s ORDER BY s.id LIMIT %s", (CITY, number(1, 5))),
    ("SELECT story, count(*) FROM votes WHERE story IN (%s, %s, %s) GROUP BY story", (STORY, STORY, STORY)),
    ("SELECT s.author, count(*) FROM stories s JOIN votes v ON v.story = s.id WHERE s.author = ANY(%s::int[]) GROUP BY s.author", (USERS,)),
    ("SELECT count(*) FROM votes WHERE voter = ANY(%s::int[])", (USERS,)),
    ("SELECT c.id, c.body, u.name FROM comments c JOIN users u ON u.id = c.author WHERE c.story = %s AND c.id > %s ORDER BY c.id", (STORY, STORY)),
    ("SELECT city, count(*) FROM users WHERE city = %s AND score > %s GROUP BY city", (CITY, POINTS)),
    ("SELECT author, sum(points) FROM stories WHERE author = %s GROUP BY author HAVING sum(points) > %s", (USER, POINTS)),
    ("SELECT t.word, s.title FROM tags t LEFT JOIN stories s ON s.id = t.story WHERE t.word = %s", (lambda dice: "w" + str(dice.randint(0, 9)),)),
    ("SELECT id FROM users u WHERE city = %s AND NOT EXISTS (SELECT 1 FROM stories s WHERE s.author = u.id)", (CITY,)),
    ("SELECT DISTINCT s.category FROM stories s JOIN users u ON u.id = s.author WHERE u.city = %s", (CITY,)),
    ("SELECT author FROM stories WHERE category = %s UNION SELECT a FROM memberships WHERE level = %s", (number(0, 6), number(0, 9))),
    ("SELECT id, title FROM stories WHERE author = %s UNION ALL SELECT id, word FROM tags WHERE story = %s", (USER, STORY)),
    ("SELECT voter, id FROM votes WHERE voter IN (%s, %s) UNION ALL SELECT author, id FROM comments WHERE author = ANY(%s::int[]) ORDER BY 1, 2 LIMIT 5", (USER, USER, USERS)),
    ("SELECT author, count(*) FROM stories WHERE author = %s GROUP BY author UNION ALL SELECT category, count(*) FROM stories WHERE category = %s GROUP BY category", (USER, number(0, 6))),
    ("SELECT 'v' AS kind, count(*) FROM votes WHERE voter = %s UNION ALL SELECT 's', count(*) FROM stories WHERE author = %s", (USER, USER)),
    ("""SELECT x.id, u.name FROM (SELECT id, author FROM stories WHERE category = %s UNION ALL SELECT id, author FROM comments WHERE story = %s) x
        JOIN users u ON u.id = x.author WHERE u.city = %s""", (number(0, 6), STORY, CITY)),
    # Branches whose parameters are of other types or another number, or that have none.
    ("SELECT id, title FROM stories WHERE author = %s UNION ALL SELECT id, name FROM users WHERE city = %s ORDER BY 1, 2", (USER, CITY)),
    ("SELECT story, value FROM votes WHERE voter = %s UNION ALL SELECT story, 0 FROM tags ORDER BY 1, 2 LIMIT 7", (USER,)),
    ("SELECT author FROM stories WHERE author = %s AND category = %s UNION SELECT id FROM users WHERE city = %s", (USER, number(0, 6), CITY)),
    ("SELECT category FROM stories UNION SELECT level FROM memberships WHERE a = %s", (USER,)),
    ("""SELECT x.id, x.n FROM (SELECT id, points AS n FROM stories WHERE title = %s UNION ALL SELECT story, value FROM votes WHERE voter = ANY(%s::int[])
        UNION ALL SELECT story, 1 FROM tags WHERE word = %s AND story = %s) x WHERE x.id IS NOT NULL""", (CITY, USERS, CITY, STORY)),
    ("SELECT id FROM users WHERE city = %s EXCEPT SELECT author FROM stories WHERE category = %s", (CITY, number(0, 6))),
    ("SELECT a.id, b.id FROM stories a JOIN stories b ON b.category = a.category AND b.id > a.id WHERE a.author = %s", (USER,)),
    ("""WITH RECURSIVE b(id) AS (SELECT id FROM comments WHERE id = %s UNION SELECT c.id FROM b JOIN comments c ON c.parent = b.id)
        SELECT id FROM b""", (number(1, 60),)),
    ("SELECT id, row_number() OVER (ORDER BY points, id) FROM stories WHERE author = %s", (USER,)),
    ("SELECT author, id, rank() OVER (PARTITION BY author ORDER BY points) FROM stories WHERE author = %s AND points > %s", (USER, POINTS)),
    ("SELECT string_agg(title, ',' ORDER BY id), count(DISTINCT category) FROM stories WHERE author = %s", (USER,)),
    ("SELECT u.id, (SELECT count(*) FROM votes v WHERE v.voter = u.id) FROM users u WHERE u.city = %s", (CITY,)),
    ("SELECT count(*) FROM votes v JOIN stories s ON s.id = v.story WHERE v.voter = %s AND s.author = %s", (USER, USER)),
    ("SELECT count(*) FROM stories WHERE author = %s AND author = %s", (USER, USER)),
    ("SELECT count(*), %s::int FROM stories WHERE author = %s::int + 1", (USER, USER)),
    # Groups over no rows, and what stands above or below one.
    ("SELECT count(*) + 1, coalesce(sum(value), -7), 'all', max(value) FROM votes WHERE story = %s LIMIT 1", (number(60, 90),)),
    ("SELECT count(*) FROM (SELECT count(*) AS n FROM votes WHERE story = %s) counted", (number(60, 90),)),
    ("SELECT count(*) FROM votes WHERE story = %s HAVING count(*) > 2", (STORY,)),
    ("SELECT n FROM (SELECT count(*) AS n FROM votes WHERE story = %s) counted WHERE n = %s", (number(50, 90), number(0, 2))),
    ("SELECT count(v.id) FROM stories s LEFT JOIN votes v ON v.story = s.id WHERE s.author = %s OFFSET %s", (number(30, 60), number(0, 1))),
    ("SELECT s.id, v.value FROM stories s LEFT JOIN votes v ON v.story = s.id AND v.value > %s WHERE s.author = %s", (number(-2, 2), USER)),
    ("SELECT s.id, v.id FROM stories s LEFT JOIN votes v ON v.story = s.id AND v.voter = %s WHERE s.category = %s", (USER, number(0, 6))),
    ("SELECT count(*) FROM stories WHERE author = %s OR category = %s", (USER, number(0, 6))),
    ("SELECT n, count(*) FROM m_left_count WHERE n = %s GROUP BY n", (number(0, 6),)),
    ("SELECT w.word, s.n FROM m_tag_words w JOIN m_left_count s ON s.id = w.id WHERE w.word = %s", (lambda dice: "w" + str(dice.randint(0, 9)),)),
    ("SELECT count(*) FROM stories WHERE points = %s", (POINTS,)),
    ("SELECT category, count(*) FROM stories WHERE author = %s GROUP BY category ORDER BY count(*) DESC, category LIMIT 2", (USER,)),
    ("SELECT count(*) FROM users WHERE lower(city) = lower(%s)", (CITY,)),
    ("SELECT x.author, x.n FROM (SELECT author, count(*) AS n FROM stories GROUP BY author) x WHERE x.n = %s", (number(1, 4),)),
    ("SELECT DISTINCT ON (category) category, id, title FROM stories WHERE author = %s ORDER BY category, id", (USER,)),
    ("SELECT count(*) FROM memberships WHERE a IS NOT DISTINCT FROM %s::int", (lambda dice: dice.choice([None, dice.randint(0, 45)]),)),
    ("SELECT count(*), max(level) FROM memberships WHERE a = %s::int AND b = %s::int", (lambda dice: dice.choice([None, dice.randint(0, 45)]), USER)),
    ("SELECT l, count(*) FROM stories s, unnest(s.labels) AS l WHERE s.author = %s GROUP BY l", (USER,)),
    ("SELECT u.id FROM users u WHERE u.city = %s AND u.score > (SELECT avg(score) FROM users)", (CITY,)),
    ("SELECT s.id FROM stories s WHERE s.category = %s AND EXISTS (SELECT 1 FROM votes v WHERE v.story = s.id AND v.voter = %s)", (number(0, 6), USER)),
    ("SELECT count(*) FROM votes WHERE story BETWEEN %s AND %s", (STORY, STORY)),
    ("SELECT body FROM comments WHERE story = %s AND body LIKE %s ORDER BY id", (STORY, lambda dice: f"%{dice.randint(0, 9)}%")),
]

CITIES = ["Bern", "Oslo", "Turin", "Lima", "Ghent"]

# Pieces of random definitions: a FROM clause, its key, columns by type, predicates.
SOURCES = [
    ("stories s", ["s.id"], ["s.author", "s.category", "s.points", "s.title"], ["s.points"]),
    ("votes v", ["v.id"], ["v.voter", "v.story", "v.value"], ["v.value"]),
    ("stories s JOIN users u ON u.id = s.author", ["s.id"], ["u.city", "u.score", "s.category", "s.title"], ["s.points", "u.score"]),
    ("votes v JOIN stories s ON s.id = v.story", ["v.id"], ["s.author", "v.voter", "s.category", "v.value"], ["v.value", "s.points"]),
    ("stories s LEFT JOIN votes v ON v.story = s.id", ["s.id", "v.id"], ["s.author", "v.voter", "s.category", "v.value"], ["v.value", "s.points"]),
    ("users u LEFT JOIN stories s ON s.author = u.id AND s.points > 35", ["u.id", "s.id"], ["u.city", "s.category", "u.joined", "s.title"], ["s.points", "u.score"]),
    ("tags t FULL JOIN stories s ON s.id = t.story", ["s.id", "t.id"], ["t.word", "s.category", "s.author"], ["s.points", "t.story"]),
    ("comments c LEFT JOIN comments p ON p.id = c.parent", ["c.id"], ["c.author", "p.author", "c.story", "p.body"], ["c.story", "p.story"]),
    ("memberships m JOIN users u ON u.id = m.a JOIN users w ON w.id = m.b", ["m.id"], ["u.city", "w.city", "m.level", "m.note"], ["m.level", "u.score"]),
    ("comments c JOIN stories s ON s.id = c.story LEFT JOIN categories k ON k.id = s.category", ["c.id"], ["k.name", "k.parent", "c.author", "s.author"], ["s.points"]),
    ("users u RIGHT JOIN votes v ON v.voter = u.id AND v.value > 0", ["v.id"], ["u.city", "u.name", "v.story"], ["v.value", "u.score"]),
    ("categories k, LATERAL (SELECT x.id, x.points, x.author FROM stories x WHERE x.category = k.id ORDER BY x.points DESC NULLS LAST, x.id LIMIT 3) s",
     ["s.id"], ["k.name", "s.author"], ["s.points"]),
    ("users u JOIN m_left_count s ON s.id = u.score % 40", ["u.id", "s.id"], ["u.city", "s.n"], ["s.s", "u.score"]),
]


def condition(dice, columns, numbers, keys):
    kind = dice.randrange(9)
    column, figure = dice.choice(columns), dice.choice(numbers)
    return [
        f"{figure} > {dice.randint(-1, 60)}",
        f"{figure} IS NOT NULL",
        f"({figure} < {dice.randint(0, 60)} OR {column} IS NULL)",
        f"{column} IS NOT NULL",
        f"{keys[0]} IN (SELECT story FROM votes WHERE value > {dice.randint(-2, 1)})",
        f"EXISTS (SELECT 1 FROM tags e WHERE e.story = {keys[0]})",
        f"NOT EXISTS (SELECT 1 FROM comments e WHERE e.story = {keys[0]} AND e.id > {dice.randint(0, 30)})",
        f"{figure} >= (SELECT avg(value) FROM votes)",
        f"{keys[0]} % {dice.randint(2, 5)} <> 0",
    ][kind]


def random_definition(dice, depth=0):
    source, keys, columns, numbers = dice.choice(SOURCES)
    where = " AND ".join(condition(dice, columns, numbers, keys) for _ in range(dice.randrange(3)))
    where = f" WHERE {where}" if where else ""
    order = ", ".join(f"{part} {dice.choice(['', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST'])}" for part in [dice.choice(numbers), *keys])
    some = dice.sample(columns, dice.randint(1, 2))
    shape = dice.randrange(8)
    if shape == 0:
        listed = ", ".join(f"{part} AS c{place}" for place, part in enumerate(keys + some))
        return f"SELECT {listed} FROM {source}{where}"
    if shape in (1, 2):
        listed = ", ".join(f"{part} AS c{place}" for place, part in enumerate(some))
        figure = dice.choice(numbers)
        aggregates = dice.sample([f"count(*) AS n", f"count(DISTINCT {figure}) AS d", f"sum({figure}) AS s", f"min({figure}) AS l", f"max({figure}) AS m",
                                  f"avg({figure}) AS a", f"count({figure}) FILTER (WHERE {figure} > 1) AS f", f"sum({figure}::float8 / 7) AS e", f"avg({figure}::float8) AS g",
                                  f"stddev({figure}) AS t", f"sum(DISTINCT {figure}) AS u", f"count(DISTINCT {some[0]}) FILTER (WHERE {figure} > 3) AS v",
                                  f"bit_or({figure}::int) AS b", f"sum({figure} * interval '1 hour') AS h", f"regr_sxy({figure}, {keys[0]}) AS r",
                                  f"array_agg({keys[0]} ORDER BY {', '.join(keys)}) AS k"], 3)
        having = dice.choice(["", "", " HAVING count(*) > 1", f" HAVING max({figure}) > 20"])
        return f"SELECT {listed}, {', '.join(aggregates)} FROM {source}{where} GROUP BY {', '.join(some)}{having}"
    if shape == 3:
        return f"SELECT DISTINCT {', '.join(f'{part} AS c{place}' for place, part in enumerate(some))} FROM {source}{where}"
    if shape == 4:
        listed = ", ".join(f"{part} AS c{place}" for place, part in enumerate(keys))
        return f"SELECT {listed} FROM {source}{where} ORDER BY {order} LIMIT {dice.randint(1, 8)}"
    if shape == 5:
        listed = ", ".join(f"{part} AS c{place}" for place, part in enumerate(keys))
        figure = dice.choice(numbers)
        window = dice.choice(["row_number()", f"sum({figure})", f"lag({figure})", f"count({figure})"])
        return f"SELECT {listed}, {window} OVER (PARTITION BY {some[0]} ORDER BY {order}) AS w FROM {source}{where}"
    if shape == 6:
        return f"SELECT count(*) AS n, sum({dice.choice(numbers)}) AS s, max({some[0]}) AS m FROM {source}{where}"
    other, other_keys, *_ = dice.choice(SOURCES)
    operator = dice.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL"])
    return f"SELECT {keys[0]} AS c0 FROM {source}{where} {operator} SELECT {other_keys[0]} FROM {other}"


def text(dice):
    return "".join(dice.choice("abcdeé ") for _ in range(dice.randint(0, 8)))


def maybe(dice, value, chance=0.15):
    return None if dice.random() < chance else value


class Writer:
    """Random transactions. Keys collide, people are missing: some are refused."""

    def __init__(self, dice):
        self.dice = dice
        self.last = None

    def row(self, table):
        dice = self.dice
        person, story = dice.randint(1, 42), dice.randint(1, 65)
        match table:
            case "users":
                return (dice.randint(1, 60), text(dice), f"202{dice.randint(0, 4)}-0{dice.randint(1, 9)}-1{dice.randint(0, 9)}",
                        maybe(dice, dice.randint(0, 100)), maybe(dice, dice.choice(CITIES)))
            case "categories":
                return (dice.randint(1, 12), text(dice), maybe(dice, dice.randint(1, 12), 0.4))
            case "tags":
                return (dice.randint(1, 200), maybe(dice, f"w{dice.randint(0, 9)}"), maybe(dice, story))
            case "stories":
                weight = dice.choice(["1", "1.5", "2.25", "0.125", "1000000.0001", "-3", "0"])
                return (dice.randint(1, 120), text(dice), person, maybe(dice, dice.randint(1, 6)), maybe(dice, dice.choice([dice.randint(0, 100), 50, "12.34"])),
                        maybe(dice, weight, 0.3), maybe(dice, f"2024-{dice.randint(1, 12):02}-03 04:05:06"),
                        maybe(dice, [f"l{dice.randint(0, 4)}" for _ in range(dice.randint(0, 3))]))
            case "votes":
                return (dice.randint(1, 500), person, maybe(dice, story), maybe(dice, dice.randint(-2, 3)))
            case "comments":
                return (dice.randint(1, 150), person, maybe(dice, story), maybe(dice, dice.randint(1, 60), 0.4), text(dice))
            case "memberships":
                return (dice.randint(1, 120), person, maybe(dice, dice.randint(1, 42)), dice.randint(0, 9), text(dice))

    def insert(self, table, count):
        listed = [self.row(table) for _ in range(count)]
        places = ", ".join("(" + ", ".join(["%s"] * len(row)) + ")" for row in listed)
        return f"INSERT INTO {table} VALUES {places}", [value for row in listed for value in row]

    def statement(self):
        dice = self.dice
        table = dice.choices(["users", "categories", "tags", "stories", "votes", "comments", "memberships"], [2, 1, 3, 5, 6, 4, 2])[0]
        kind = dice.random()
        if kind < 0.35:
            statement, values = self.insert(table, dice.choice([1, 1, 2, 5]))
            return statement + dice.choice(["", " ON CONFLICT DO NOTHING", " ON CONFLICT DO NOTHING"]), values
        key = dice.randint(1, {"users": 60, "categories": 12, "votes": 500, "tags": 200}.get(table, 120))
        several = f"id % {dice.randint(3, 9)} = {dice.randint(0, 2)}"
        which = dice.choice([f"id = {key}", f"id BETWEEN {key} AND {key + 4}", several])
        if kind < 0.55:
            change = dice.choice({
                "users": ["score = score + 3", "city = 'Lima'", "name = name || 'a'", "score = NULL", "joined = joined + 40"],
                "categories": ["parent = id - 1", "name = 'same'", "parent = NULL"],
                "tags": ["story = story + 1", "word = 'w1'", "word = NULL"],
                "stories": ["points = points / 2", "category = 1 + id % 5", "title = 'same'", "points = NULL", "weight = weight * 1.5", "labels = labels || 'l9'::text",
                            "created = created + interval '20 days'", f"author = {dice.randint(1, 42)}", "points = points"],
                "votes": ["value = -value", "story = story + 1", f"voter = {dice.randint(1, 42)}", "value = 1"],
                "comments": ["body = body || '5'", f"parent = {dice.randint(1, 60)}", "parent = NULL", "story = 3", f"author = {dice.randint(1, 42)}"],
                "memberships": ["level = 9 - level", f"a = {dice.randint(1, 42)}", "b = NULL", f"b = {dice.randint(1, 42)}", "note = 'x'"],
            }[table])
            return f"UPDATE {table} SET {change} WHERE {which}", []
        if kind < 0.62:
            return f"UPDATE {table} SET id = id + {dice.choice([1, 7, 300])} WHERE id = {key}", []
        if kind < 0.80:
            return f"DELETE FROM {table} WHERE {which}", []
        if kind < 0.84:
            return f"TRUNCATE {dice.choice(['tags', 'votes', 'memberships', 'categories'])}", []
        if kind < 0.92:
            return dice.choice([
                "INSERT INTO votes SELECT 600 + id, author, id, 1 FROM stories WHERE id % 4 = 1 ON CONFLICT DO NOTHING",
                "INSERT INTO tags SELECT id + 300, 'w' || id % 5, id FROM stories ON CONFLICT (id) DO UPDATE SET word = excluded.word || 'x'",
                "UPDATE stories SET points = u.score FROM users u WHERE u.id = stories.author AND u.score > 50",
                "DELETE FROM votes USING stories s WHERE s.id = votes.story AND s.author = votes.voter",
                "UPDATE votes SET value = value + 1",
            ]), []
        statement, values = self.insert(table, 1)
        return f"{statement} ON CONFLICT (id) DO UPDATE SET id = {table}.id + 500", values

    def transaction(self, connection):
        """The SQLSTATE of the first refusal, or ""."""
        dice, said = self.dice, []
        block = dice.random() < 0.6
        try:
            if block:
                connection.execute("BEGIN")
            for _ in range(dice.randint(1, 6) if block else 1):
                statement, values = self.statement()
                said.append((statement, values))
                if block and dice.random() < 0.2:
                    connection.execute("SAVEPOINT here")
                    try:
                        connection.execute(statement, values or None)
                        if dice.random() < 0.4:
                            connection.execute("ROLLBACK TO SAVEPOINT here")
                    except psycopg.Error:
                        connection.execute("ROLLBACK TO SAVEPOINT here")
                else:
                    connection.execute(statement, values or None)
            if block:
                connection.execute("ROLLBACK" if dice.random() < 0.2 else "COMMIT")
            return ""
        except psycopg.Error as error:
            self.last = f"{error}: {said}"
            if block and not connection.closed:
                connection.execute("ROLLBACK")
            return error.sqlstate or "lost"

    def refill(self, connection):
        """Some rows again where few are left."""
        for table, least in (("users", 30), ("categories", 5), ("stories", 40), ("tags", 30), ("votes", 80), ("comments", 30), ("memberships", 20)):
            for _ in range(4):
                if connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] >= least:
                    break
                for _ in range(least // 2):
                    statement, values = self.insert(table, 1)
                    try:
                        connection.execute(statement + " ON CONFLICT DO NOTHING", values)
                    except psycopg.Error as error:
                        if error.sqlstate not in ("23503", "DG001", "DG002", "DG003"):
                            raise


def seed_rows(connection, dice):
    writer = Writer(dice)
    for key in range(1, 43):
        row = writer.row("users")
        connection.execute("INSERT INTO users VALUES (%s, %s, %s, %s, %s)", (key, *row[1:]))
    writer.refill(connection)
