-- Ada invited Ben and Cyd, Ben invited Dov. Cyd moderates, and banned Dov.
INSERT INTO tags (id, tag, description) VALUES (1, 'databases', 'Where data lives'), (2, 'privacy', 'Whose data it is'), (3, 'rust', 'A language');
INSERT INTO keystores VALUES ('traffic:hour', 120);
INSERT INTO users (id, username, email, session_token, about, invited_by_user_id) VALUES
  (1, 'ada', 'ada@example.org', 's-ada', 'Engines', NULL),
  (2, 'ben', 'ben@example.org', 's-ben', 'Clocks', 1),
  (3, 'cyd', 'cyd@example.org', 's-cyd', 'Order', 1),
  (4, 'dov', 'dov@example.org', 's-dov', 'Offers', 2);
UPDATE users SET is_moderator = true WHERE id = 3;
UPDATE users SET banned_by_user_id = 3, banned_reason = 'spam' WHERE id = 4;
INSERT INTO invitation_requests (id, email, name, memo, ip_address) VALUES (1, 'eli@example.org', 'Eli', 'I read you daily', '192.0.2.7');
INSERT INTO invitations (id, user_id, email, code, memo) VALUES
  (1, 1, 'ben@example.org', 'i-1', 'Come and see'), (2, 2, 'fay@example.org', 'i-2', 'You will like it');
INSERT INTO stories (id, user_id, title, short_id, merged_story_id) VALUES
  (1, 1, 'Engines that forget', 'engine', NULL), (2, 2, 'Clocks that agree', 'clocks', NULL), (3, 4, 'Engines, cheap', 'cheap1', 1);
INSERT INTO comments (id, short_id, story_id, user_id, parent_comment_id, thread_id, comment) VALUES
  (1, 'c1', 1, 2, NULL, 1, 'How?'), (2, 'c2', 1, 1, 1, 1, 'Slowly.'), (3, 'c3', 2, 3, NULL, 2, 'Do they?');
INSERT INTO votes (id, user_id, story_id, comment_id, vote) VALUES
  (1, 2, 1, NULL, 1), (2, 1, 1, 1, 1), (3, 3, 1, 2, 1), (4, 4, 2, NULL, -1), (5, 1, 2, 3, 1);
INSERT INTO hats (id, user_id, granted_by_user_id, hat, link) VALUES (1, 1, 3, 'engineer', 'ada@engines.example'), (2, 3, 3, 'moderator', NULL);
INSERT INTO hat_requests (id, user_id, hat, link, comment) VALUES (1, 2, 'clockmaker', 'ben@clocks.example', 'I make them');
INSERT INTO tag_filters (id, user_id, tag_id) VALUES (1, 3, 2);
INSERT INTO hidden_stories (id, user_id, story_id) VALUES (1, 1, 3);
INSERT INTO read_ribbons (id, user_id, story_id) VALUES (1, 2, 1), (2, 1, 2);
INSERT INTO saved_stories (id, user_id, story_id) VALUES (1, 3, 1);
INSERT INTO suggested_titles (id, story_id, user_id, title) VALUES (1, 2, 3, 'Clocks that agree, mostly');
INSERT INTO suggested_taggings (id, story_id, tag_id, user_id) VALUES (1, 1, 3, 2);
INSERT INTO taggings (id, story_id, tag_id) VALUES (1, 1, 1), (2, 2, 1), (3, 2, 2), (4, 3, 3);
INSERT INTO messages (id, author_user_id, recipient_user_id, subject, body, short_id) VALUES
  (1, 1, 2, 'Welcome', 'Good that you are here', 'm1'), (2, 3, 4, 'Your story', 'Please no offers', 'm2'), (3, 2, 3, 'Dov', 'He was polite to me', 'm3');
INSERT INTO moderations (id, moderator_user_id, user_id, story_id, action, reason) VALUES
  (1, 3, 4, NULL, 'banned', 'spam'), (2, 3, NULL, 3, 'merged into engine', 'the same');
