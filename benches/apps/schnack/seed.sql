INSERT INTO "user" (id, name, display_name, provider, provider_id) VALUES (1, 'ada', 'Ada', 'github', '11'), (2, 'ben', 'Ben', 'mastodon', '22');
INSERT INTO comment (id, user_id, slug, reply_to, comment) VALUES
  (1, 1, 'engines', NULL, 'How?'), (2, 2, 'engines', 1, 'Slowly.'), (3, 1, 'engines', 2, 'Why?'), (4, 2, 'clocks', NULL, 'Tick.');
INSERT INTO setting VALUES ('notification', true);
INSERT INTO subscription VALUES ('push.example', 'key', 'secret');
INSERT INTO oauth_provider (id, provider, provider_app_id, provider_domain) VALUES (1, 'mastodon', 'app', 'social.example');
