-- tsvector and tsquery, texts as both, ranks and headlines.
CREATE TABLE papers (id INT PRIMARY KEY, title TEXT, body TEXT, search TSVECTOR);
INSERT INTO papers (id, title, body) VALUES
    (1, 'The Fat Cats', 'A fat cat sat on a mat and ate a fat rat.'),
    (2, 'Well-known places', 'Read more at http://www.example.com/docs/search.html?q=cats&lang=en, or write to john.doe@mail.example.org.'),
    (3, 'Numbers', 'Version 1.2.3 costs -5.50 or 1e10 dollars; call 555-1234 before 2024-01-15.'),
    (4, 'Markup', '<p class="intro">Bold <b>moves</b> &amp; tags<br/> <!-- hidden --> <script>var cats = 1;</script> remain.</p>'),
    (5, 'Apostrophes', 'It isn''t the dogs'' fault that O''Reilly''s cat won''t run.'),
    (6, 'Unicode', 'naïve café straße über 你好 привет मुझे'),
    (7, 'Hyphens', 'state-of-the-art e-mail 2nd-hand x-1 a-1b ä-ö x--y -lead trail-'),
    (8, 'Paths', 'Look into /usr/local/bin, ./here/a.txt, ../there or ~/home and C:\dir\file.'),
    (9, NULL, NULL),
    (10, '', 'the and of to in');
UPDATE papers SET search = setweight(to_tsvector('english', coalesce(title, '')), 'A') || setweight(to_tsvector('english', coalesce(body, '')), 'D');
SELECT id, search FROM papers ORDER BY id;
SELECT id, to_tsvector('simple', body) FROM papers ORDER BY id;
SELECT id, to_tsvector(title) FROM papers ORDER BY id;
SELECT id, strip(search), length(search) FROM papers ORDER BY id;
SELECT id FROM papers WHERE search @@ to_tsquery('english', 'cat') ORDER BY id;
SELECT id FROM papers WHERE search @@ to_tsquery('english', 'cats & !rats') ORDER BY id;
SELECT id FROM papers WHERE search @@ to_tsquery('english', 'fat <-> cats') ORDER BY id;
SELECT id FROM papers WHERE search @@ to_tsquery('english', 'cat:A') ORDER BY id;
SELECT id FROM papers WHERE search @@ to_tsquery('english', 'num:* | mark:*') ORDER BY id;
SELECT id FROM papers WHERE search @@ websearch_to_tsquery('english', '"fat cat" or markup -numbers') ORDER BY id;
SELECT id FROM papers WHERE search @@ plainto_tsquery('english', 'the fat rats') ORDER BY id;
SELECT id FROM papers WHERE search @@ phraseto_tsquery('english', 'cat sat on a mat') ORDER BY id;
SELECT id FROM papers WHERE to_tsquery('english', 'dog') @@ search ORDER BY id;
SELECT id FROM papers WHERE body @@ to_tsquery('run') ORDER BY id;
SELECT id FROM papers WHERE body @@ 'costs dollars' ORDER BY id;
SELECT id FROM papers WHERE search @@@ to_tsquery('english', 'hyphen') ORDER BY id;
SELECT id FROM papers WHERE search @@ NULL::tsquery ORDER BY id;
SELECT id, ts_rank(search, q) FROM papers, to_tsquery('english', 'cat | fat | example.com') q WHERE search @@ q ORDER BY ts_rank(search, q) DESC, id;
SELECT id, ts_rank_cd(search, q) FROM papers, to_tsquery('english', 'cat & fat') q WHERE search @@ q ORDER BY id;
SELECT id, ts_rank_cd('{0.1, 0.2, 0.4, 1.0}', search, q, 32) FROM papers, to_tsquery('english', 'cat & fat') q WHERE search @@ q ORDER BY id;
SELECT n, ts_rank(search, to_tsquery('english', 'cat & fat'), n), ts_rank_cd(search, to_tsquery('english', 'cat & fat'), n) FROM papers, generate_series(0, 63) n WHERE id = 1 ORDER BY n;
SELECT id, ts_headline('english', body, q) FROM papers, to_tsquery('english', 'cat | search | tag') q WHERE search @@ q ORDER BY id;
SELECT id, ts_headline(body, to_tsquery('cat'), 'MaxWords=5, MinWords=2, StartSel=[, StopSel=]') FROM papers ORDER BY id;
SELECT id, ts_headline('english', body, to_tsquery('english', 'cat | fat | mat'), 'MaxFragments=2, MaxWords=4, MinWords=1, FragmentDelimiter=" # "') FROM papers WHERE id < 6 ORDER BY id;
SELECT id, ts_headline('simple', body, to_tsquery('simple', 'cat | http:*'), 'HighlightAll=true') FROM papers WHERE id < 6 ORDER BY id;
SELECT lexeme, positions, weights FROM papers, unnest(search) WHERE id = 1;
SELECT tsvector_to_array(search) FROM papers WHERE id IN (1, 10) ORDER BY id;
SELECT id, ts_delete(search, 'cat'), ts_filter(search, '{a}') FROM papers WHERE id IN (1, 5) ORDER BY id;
SELECT id, setweight(search, 'B', '{cat,fat}') FROM papers WHERE id = 1;
-- Order, keys, groups.
CREATE TABLE vectors (v TSVECTOR PRIMARY KEY, q TSQUERY, UNIQUE (q, v));
INSERT INTO vectors VALUES ('a:1 b:2', 'a & b'), ('a b', 'a | b'), ('a:1', 'a:*'), ('a:1A', 'a:B'), ('b', '!a'), ('', ''), ('aa:1', 'a <-> b'), ('a:1,2', 'a <2> b'), ('z', NULL);
INSERT INTO vectors VALUES ('b:2 a:1D', 'x');
INSERT INTO vectors VALUES ('b:2 a:1D', 'x') ON CONFLICT (v) DO UPDATE SET q = 'conflict' RETURNING *;
SELECT v FROM vectors ORDER BY v;
SELECT v FROM vectors ORDER BY v DESC;
SELECT count(*) FROM vectors GROUP BY q ORDER BY q;
SELECT DISTINCT q IS NULL, q = 'a' FROM vectors ORDER BY 1, 2;
SELECT count(DISTINCT q), count(DISTINCT v) FROM vectors;
SELECT a.v, b.v FROM vectors a JOIN vectors b ON a.v < b.v WHERE a.v <= 'a' AND b.v = 'a b' ORDER BY 1, 2;
SELECT v FROM vectors WHERE v = 'a:1A';
SELECT v FROM vectors WHERE v IN ('a:1', 'b', 'nothing') ORDER BY v;
SELECT v FROM vectors WHERE v > 'a:1' ORDER BY v;
SELECT q FROM vectors WHERE q = 'a:*AB' ORDER BY v;
SELECT q FROM vectors WHERE q <> 'a' ORDER BY q, v;
SELECT a.q, b.q, a.q < b.q, a.q = b.q, a.q @> b.q, a.q <@ b.q FROM vectors a, vectors b WHERE a.v < b.v ORDER BY a.v, b.v;
SELECT v, q, v @@ q FROM vectors ORDER BY v;
UPDATE vectors SET v = v || 'c:1'::tsvector WHERE q IS NULL RETURNING v;
DELETE FROM vectors WHERE v @@ 'c';
SELECT array_agg(v ORDER BY v), array_agg(q ORDER BY q, v) FROM vectors;
CREATE INDEX vectors_q ON vectors (q DESC);
SELECT q FROM vectors ORDER BY q DESC NULLS LAST, v LIMIT 3;
CREATE TABLE searched (id INT PRIMARY KEY, body TEXT, language REGCONFIG DEFAULT 'english', search TSVECTOR GENERATED ALWAYS AS (to_tsvector('english', coalesce(body, ''))) STORED, own TSVECTOR GENERATED ALWAYS AS (to_tsvector(language, body)) STORED);
INSERT INTO searched (id, body) VALUES (1, 'Running cats'), (2, NULL);
INSERT INTO searched (id, body, language) VALUES (3, 'Running dogs', 'simple') RETURNING search, own;
UPDATE searched SET body = 'Jumping dogs' WHERE id = 1 RETURNING search, own, language;
SELECT id FROM searched WHERE search @@ 'dog' ORDER BY id;
CREATE TABLE not_searched (body TEXT, search TSVECTOR GENERATED ALWAYS AS (to_tsvector(body)) STORED);
CREATE INDEX searched_body ON searched (to_tsvector('simple', body));
CREATE INDEX searched_not ON searched (to_tsvector(body));
SELECT id FROM searched WHERE to_tsvector('simple', body) = 'dogs:2 jumping:1';
CREATE MATERIALIZED VIEW searched_found AS SELECT id, ts_rank(search, to_tsquery('english', 'dogs')) AS rank FROM searched WHERE search @@ to_tsquery('english', 'dogs') WITH NO DATA;
REFRESH MATERIALIZED VIEW searched_found;
SELECT * FROM searched_found ORDER BY id;
-- Text forms.
SELECT 'a fat cat'::tsvector, 'a:1 fat:2,3A cat:4C'::tsvector, '''with space'':1 ''it''''s'''::tsvector, 'a\:b'::tsvector;
SELECT 'b:3 a:5,1B a:1A'::tsvector, 'a:99999'::tsvector, 'a:1d,2D'::tsvector, ''::tsvector;
SELECT 'a:0'::tsvector;
SELECT 'a:1,'::tsvector;
SELECT 'a:x'::tsvector;
SELECT '''a'::tsvector;
SELECT 'a\'::tsvector;
SELECT ''''''::tsvector;
SELECT 'a & b | !c'::tsquery, '(a | b) & c'::tsquery, 'a <-> (b <2> c)'::tsquery, '!(a & b)'::tsquery, 'a:*B & ''c d'':ac'::tsquery;
SELECT 'a & (b & c)'::tsquery, '(a <-> b) <-> c'::tsquery, '!!a'::tsquery, 'a <0> b'::tsquery, '((a))'::tsquery;
SELECT 'a b'::tsquery;
SELECT 'a &'::tsquery;
SELECT '| a'::tsquery;
SELECT '(a'::tsquery;
SELECT 'a)'::tsquery;
SELECT '()'::tsquery;
SELECT 'a <99999> b'::tsquery;
SELECT 'a:b:c'::tsquery;
SELECT (repeat('!', 40) || 'a')::tsquery;
SELECT repeat('a', 2047)::tsvector;
SELECT length((SELECT string_agg('w' || i || ':1', ' ') FROM generate_series(1, 1000) i)::tsvector);
SELECT length((SELECT string_agg('word' || i || ':1', ' ') FROM generate_series(1, 100000) i)::tsvector);
SELECT length((SELECT string_agg('word' || i, ' ') FROM generate_series(1, 100000) i)::tsvector);
SELECT length(to_tsvector('simple', (SELECT string_agg('w' || i, ' ') FROM generate_series(1, 20000) i)));
SELECT ts_filter(to_tsvector('simple', (SELECT string_agg('w' || i % 3, ' ') FROM generate_series(1, 1000) i)), '{d}') = to_tsvector('simple', (SELECT string_agg('w' || i % 3, ' ') FROM generate_series(1, 1000) i));
SELECT '{a:1,"b c:2"}'::tsvector[], '{a&b,"c | d"}'::tsquery[], ARRAY['a'::tsvector, 'b:1'], ('{a:1,b}'::tsvector[])[2];
SELECT 'a:1'::tsvector::text, 'a & b'::tsquery::text, 'x'::text::tsvector, 'x & y'::varchar::tsquery, 'a'::tsvector || '';
SELECT 'a'::tsvector::tsquery;
SELECT 1::tsvector;
SELECT pg_typeof('a'::tsvector), pg_typeof('a'::tsquery), pg_typeof('english'::regconfig), pg_typeof(to_tsvector('a')), pg_typeof(ts_rank('a', 'a'));
SELECT ROW('a:1'::tsvector, 'b'::tsquery), to_jsonb('a:1'::tsvector), to_json('a & b'::tsquery), concat('a:1'::tsvector, 'b'::tsquery);
-- Configurations.
SELECT 'english'::regconfig, 'pg_catalog.english'::regconfig, 'simple'::regconfig::text, 'simple'::regconfig::oid, '-'::regconfig, 3748::regconfig;
SELECT 'nothing'::regconfig;
SELECT 'public.english'::regconfig;
SELECT to_tsvector('nothing', 'a');
SELECT 'english_stem'::regdictionary, 'simple'::regdictionary::oid;
SELECT 'nothing'::regdictionary;
SELECT get_current_ts_config();
SET default_text_search_config = 'simple';
SELECT get_current_ts_config(), to_tsvector('The Running Cats'), to_tsquery('The & Cats'), 'The Cats' @@ to_tsquery('cats'), 'The Cats' @@ 'cat';
SET default_text_search_config = 'pg_catalog.english';
SELECT get_current_ts_config(), to_tsvector('The Running Cats'), to_tsquery('Cats'), 'The Cats' @@ 'cat';
SET default_text_search_config = 'nothing';
SELECT cfgname, cfgparser FROM pg_ts_config WHERE cfgname IN ('simple', 'english') ORDER BY 1;
SELECT dictname, dictinitoption FROM pg_ts_dict WHERE dictname IN ('simple', 'english_stem') ORDER BY 1;
SELECT cfgname, maptokentype, mapseqno, dictname FROM pg_ts_config_map m JOIN pg_ts_config c ON c.oid = mapcfg JOIN pg_ts_dict d ON d.oid = mapdict WHERE cfgname IN ('simple', 'english') ORDER BY 1, 2;
SELECT prsname FROM pg_ts_parser;
SELECT ts_lexize('english_stem', w), ts_lexize('simple', w) FROM unnest('{Stars,the,running,happily,generalizations,YES,dying}'::text[]) w;
SELECT * FROM ts_token_type('default');
SELECT * FROM ts_parse('default', 'a well-known e-mail: me@example.com, http://example.com/a?b=c <b>x</b> 1.5 -2 &amp; ~/a');
SELECT * FROM ts_parse(3722, 'x 1');
SELECT * FROM ts_parse('nothing', 'x');
-- Queries from texts.
SELECT to_tsquery('english', 'The & Fat & Rats'), to_tsquery('english', 'fat:ab & (rats | !cat:*)'), to_tsquery('english', '''fat rats'' <-> cat'), to_tsquery('english', 'cat <-> the <-> rat');
SELECT to_tsquery('english', 'well-known'), to_tsquery('simple', 'foo_bar'), to_tsquery('english', '''http://a.com/b'' & c'), to_tsquery('simple', '1.5 | -3');
SELECT to_tsquery('fat rats');
SELECT to_tsquery('fat &');
SELECT plainto_tsquery('english', 'The Fat & Rats:C'), plainto_tsquery('simple', 'The Fat'), plainto_tsquery('!a | b');
SELECT phraseto_tsquery('english', 'The Fat & Rats in the house'), phraseto_tsquery('simple', 'a b c'), phraseto_tsquery('cat');
SELECT websearch_to_tsquery('english', 'The fat rats'), websearch_to_tsquery('english', '"sad cat" or "fat rat"'), websearch_to_tsquery('english', 'signal -"segmentation fault"');
SELECT websearch_to_tsquery('english', '""" )( dummy \\ query <->'), websearch_to_tsquery('english', 'cat or'), websearch_to_tsquery('english', 'or cat'), websearch_to_tsquery('english', 'a:b -c or -d');
SELECT websearch_to_tsquery('simple', 'cat OR dog oregon'), websearch_to_tsquery('simple', 'cat -'), websearch_to_tsquery('simple', '-"a b" c'), websearch_to_tsquery('simple', 'd''or "x');
SELECT 'a'::tsquery && 'b | c', 'a'::tsquery || 'b & c'::tsquery, 'a'::tsquery <-> 'b & c', !!'a | b'::tsquery, !! 'a'::tsquery && 'b'::tsquery;
SELECT tsquery_phrase('a', 'b'), tsquery_phrase('a', 'b <-> c', 3), tsquery_phrase('a', 'b', 0);
SELECT tsquery_phrase('a', 'b', -1);
SELECT tsquery_phrase('a', 'b', 16385);
SELECT numnode('a & !b | c'::tsquery), querytree('a & !b'), querytree('!a'), querytree('a | !b'), querytree('a <-> b');
SELECT 'a & b'::tsquery @> 'a', 'a'::tsquery @> 'a & b', 'a'::tsquery <@ 'a | !b';
-- What is found.
SELECT 'a:1 b:2 c:3'::tsvector @@ 'a <-> b <-> c', 'a:1 b:2 c:3'::tsvector @@ 'a <2> c', 'a:1 b:2 c:3'::tsvector @@ 'a <-> c', 'a:1 b:2'::tsvector @@ 'b <-> a';
SELECT 'a:1 b:2'::tsvector @@ 'a <-> !b', 'a:1 c:2'::tsvector @@ 'a <-> !b', 'a:1 b:2'::tsvector @@ '!a <-> b', 'a:3 b:1,2'::tsvector @@ '!a <-> b';
SELECT 'a:1 b:2 c:3'::tsvector @@ '(a | b) <-> c', 'a:1 b:2 c:3'::tsvector @@ 'a <-> (b | c)', 'a:1 b:2 c:3'::tsvector @@ 'a <-> (b & c)', 'a:1 b:2 c:2'::tsvector @@ 'a <-> (b & c)';
SELECT 'a b'::tsvector @@ 'a <-> b', 'a b'::tsvector @@ '!(a <-> b)', 'a b'::tsvector @@ 'a & b', 'a:1 b'::tsvector @@ 'a <-> b';
SELECT 'a:1A b:2B'::tsvector @@ 'a:A', 'a:1A b:2B'::tsvector @@ 'a:BC', 'a b'::tsvector @@ 'a:A', 'a:1A b:2B'::tsvector @@ 'a:A <-> b:B', 'a:1A b:2B'::tsvector @@ 'a:A <-> b:A';
SELECT 'super:1 supra:5A'::tsvector @@ 'sup:*', 'super:1 supra:5A'::tsvector @@ 'sup:*A', 'super:1 supra:5A'::tsvector @@ 'supe:*A', 'super:1 x:6 supra:5A'::tsvector @@ 'sup:* <-> x';
SELECT 'a:1'::tsvector @@ '', ''::tsvector @@ 'a', ''::tsvector @@ '!a', NULL::tsvector @@ 'a';
SELECT d, d @@ q AS found FROM (VALUES ('fat cats ate fat rats'), ('the cat'), ('rats and cats')) AS x (d), to_tsquery('fat <-> (cat | rat) | cat & !fat') q ORDER BY d;
-- Documents made of documents.
SELECT 'a:1 b:2'::tsvector || 'c:1 a:2 b:3A'::tsvector, 'a b'::tsvector || 'a:1'::tsvector, 'a:16380'::tsvector || 'a:1,5,9'::tsvector, 'a:1'::tsvector || 'b';
SELECT setweight('a:1,2B c'::tsvector, 'A'), setweight('a:1A'::tsvector, 'd'), setweight('a:1 b:2 c:3'::tsvector, 'C', '{a,c,x}'), setweight('a:1'::tsvector, 'A', '{a,NULL}');
SELECT setweight('a:1'::tsvector, 'x');
SELECT ts_delete('a:1 b:2 c:3'::tsvector, 'b'), ts_delete('a:1 b:2 c:3'::tsvector, ARRAY['c', 'a', 'c']), ts_delete('a b'::tsvector, '{}'::text[]);
SELECT ts_filter('a:1A,2B b:3 c:4C d'::tsvector, '{a,b}'), ts_filter('a:1A b'::tsvector, '{}');
SELECT ts_filter('a:1'::tsvector, '{x}');
SELECT ts_filter('a:1'::tsvector, '{a,NULL}');
SELECT array_to_tsvector('{b,a,b}'), array_to_tsvector('{}'), tsvector_to_array('b a:1'::tsvector), tsvector_to_array('');
SELECT array_to_tsvector('{a,NULL}');
SELECT array_to_tsvector('{a,""}');
SELECT * FROM unnest('b:1,3A a'::tsvector);
SELECT to_tsvector('{"a": "fat cats", "b": ["rats", 3, {"c": "dogs"}]}'::json), to_tsvector('english', '{"b": "fat cats", "a": ["rats", true]}'::jsonb), to_tsvector('"scalar strings"'::jsonb);
SELECT json_to_tsvector('english', '{"aa": "cats", "b": 12.5, "c": true}'::json, '["string", "numeric"]'), jsonb_to_tsvector('english', '{"aa": "cats", "b": 12.5, "c": true}'::jsonb, '"all"'), jsonb_to_tsvector('{"aa": "cats"}'::jsonb, '["key"]');
SELECT jsonb_to_tsvector('english', '{}'::jsonb, '["wrong"]');
-- Texts of many kinds.
SELECT n, to_tsvector('english', t), to_tsvector('simple', t) FROM (VALUES
    (1, 'https://user:pass@sub.example.co.uk:8080/path/to/file.html?key=value&other=1#fragment'),
    (2, 'ftp://files.example.com/pub/x.tar.gz www.example.com example.com/index'),
    (3, 'someone@example.com, first.last@mail.example.org; a_b-c@host-name.net a@b'),
    (4, 'mother-in-law''s co-operative re-entry, twenty-one; up-to-date 3-D x-ray A-1 B52-C'),
    (5, '0 1 12 -3 +4 5. .6 7.8 -9.10 1e5 2E-3 -1.5e+10 1.2.3 1.2.3.4 1,234,567.89 0x1f 10% $5 #7'),
    (6, 'don''t can''t I''ve we''re they''ll he''d rock ''n'' roll ''quoted'' "double"'),
    (7, '<html><head><title>T</title><style type="text/css">p { color: red }</style></head><body onload=''x()''>Hi<br>there</body></html>'),
    (8, '&lt;tag&gt; &nbsp; &#169; &#xA9; &bogus AT&T R&D a&b'),
    (9, '/etc/passwd /a/b/c.d ./x ../../y ~/z ~user/q c:\windows\system32 a/b/c file.txt archive.tar.gz'),
    (10, 'v1.0 v2.3.4-beta3 x86_64 utf-8 iso-8859-1 c++ c# .net node.js f(x) a=b a->b a<b a>b'),
    (11, 'größe zürich naïveté crème-brûlée señor façade œuvre łódź'),
    (12, 'привет мир доброе-утро данные123 ελληνικά עברית العربية'),
    (13, '日本語 中文测试 한국어 ไทย हिन्दी'),
    (14, 'under_score __init__ snake_case_name kebab-case-name camelCaseName SHOUTING'),
    (15, 'one' || chr(9) || 'tab' || chr(10) || 'newline' || chr(13) || 'return' || ' ' || 'nbsp'),
    (16, '... !!! ??? --- ___ *** ((())) [x] {y} <z> |'),
    (17, '192.168.0.1 10.0.0.0/8 ::1 fe80::1 12:34:56 2024-01-15T10:20:30Z 00:11:22:33'),
    (18, 'http:// https://x mailto:a@b.cc //example.com/x javascript:void(0) file:///tmp/x'),
    (19, '<a href="http://example.com/?a=1&b=2">link</a> <img src=x.png/> <?xml version="1.0"?> <!DOCTYPE html> < notatag >'),
    (20, repeat('ab', 1100) || ' short')) AS texts (n, t) ORDER BY n;
SELECT n, to_tsvector('english', t) @@ q, ts_rank(to_tsvector('english', t), q), ts_rank_cd(to_tsvector('english', t), q), ts_headline('english', t, q, 'MinWords=3, MaxWords=8') FROM (VALUES
    (1, 'The quick brown fox jumps over the lazy dog; the dog sleeps on, and the fox runs away.'),
    (2, 'Foxes are not dogs, but a fox-like dog may jump as a fox jumps.'),
    (3, 'Nothing of the kind is said here.'),
    (4, 'dog fox dog fox jumping jumped jumps')) AS texts (n, t), unnest(ARRAY[to_tsquery('english', 'fox & dog'), to_tsquery('english', 'fox <-> jumps'), to_tsquery('english', 'fox | !dog'), to_tsquery('english', 'ju:* & (fox | lazy <-> dog)')]) q ORDER BY n, q;
SELECT count(*), min(length(to_tsvector('english', t))), max(length(to_tsvector('english', t))), sum(length(to_tsvector('simple', t))) FROM (SELECT string_agg(CASE (i * 7 + j * 13) % 11 WHEN 0 THEN 'http://host' || j || '.example.com/p' || i WHEN 1 THEN 'user' || j || '@mail' || i || '.org' WHEN 2 THEN i || '.' || j WHEN 3 THEN 'part-' || i || '-of-' || j WHEN 4 THEN '<b>' || j || '</b>' WHEN 5 THEN '-' || i WHEN 6 THEN 'don''t' WHEN 7 THEN '/dir' || i || '/file' || j || '.txt' WHEN 8 THEN 'running' WHEN 9 THEN 'the' ELSE 'word' || j END, CASE j % 4 WHEN 0 THEN ', ' WHEN 1 THEN ' ' WHEN 2 THEN '; ' ELSE ' / ' END ORDER BY j) AS t FROM generate_series(1, 20) i, generate_series(1, 30) j GROUP BY i) AS texts;
SELECT md5(string_agg(v::text, '|' ORDER BY i)) FROM (SELECT i, to_tsvector('english', string_agg(CASE (i * 5 + j * 3) % 7 WHEN 0 THEN 'a' || i || '-b' || j WHEN 1 THEN j || 'e' || i WHEN 2 THEN 'x.y' || j || '.com' WHEN 3 THEN '&e' || j || ';' WHEN 4 THEN '_' || i WHEN 5 THEN i || '.' || j || '.' || i ELSE 'q@w' || j || '.de' END, substr(' -./@:_<>&', 1 + (i + j) % 10, 1) ORDER BY j)) AS v FROM generate_series(1, 40) i, generate_series(1, 12) j GROUP BY i) AS made;
-- Options of headlines.
SELECT ts_headline('english', 'one two three four five six seven eight nine ten', to_tsquery('english', 'five'), 'MaxWords=4, MinWords=2');
SELECT ts_headline('english', 'one two three four five six seven', to_tsquery('english', 'five & seven'), 'MaxWords=3,MinWords=1,ShortWord=0,MaxFragments=3');
SELECT ts_headline('english', 'a cat', 'cat', 'MinWords=10, MaxWords=5');
SELECT ts_headline('english', 'a cat', 'cat', 'MinWords=0');
SELECT ts_headline('english', 'a cat', 'cat', 'ShortWord=-1');
SELECT ts_headline('english', 'a cat', 'cat', 'MaxFragments=-1');
SELECT ts_headline('english', 'a cat', 'cat', 'Other=1');
SELECT ts_headline('english', 'a cat', 'cat', 'MaxWords=many');
SELECT ts_headline('english', 'a cat', 'cat', 'MaxWords');
SELECT ts_headline('english', 'a cat', 'cat', 'StartSel="<');
SELECT ts_headline('english', 'a cat', 'cat', 'StartSel = ''<<'', StopSel=">>", highlightall=1');
SELECT ts_rank('{0.1, 0.2}'::real[], 'a:1', 'a');
SELECT ts_rank('{0.1, 0.2, 0.3, 1.1}'::real[], 'a:1', 'a');
SELECT ts_rank('{0.1, 0.2, 0.3, NULL}'::real[], 'a:1', 'a');
SELECT ts_rank('a:1', 'a'), ts_rank('{0.1, 0.2, 0.4, 1.0}', 'a:1', 'a', 0);
SELECT ts_rank_cd('{{1, 1, 1, 1}}'::real[], 'a:1', 'a');
SELECT oid, typname, typcategory, typarray FROM pg_type WHERE typname IN ('tsvector', 'tsquery', '_tsvector', '_tsquery', 'regconfig', 'regdictionary') ORDER BY oid;
SELECT oprname, oprleft::regtype, oprright::regtype, oprresult::regtype FROM pg_operator WHERE 'tsquery'::regtype IN (oprleft, oprright) OR 'tsvector'::regtype IN (oprleft, oprright) ORDER BY 1, 2, 3;
DROP MATERIALIZED VIEW searched_found;
DROP TABLE papers, vectors, searched;
