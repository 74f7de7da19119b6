-- A clone of Instagram: 19 tables, one of people. Nearly everything is owned by who did it; a conversation and its messages by both sides.
-- Whom an act was about is a plain foreign key: the act goes with that person too.

CREATE DATA_SUBJECT TABLE users (
  id SERIAL PRIMARY KEY,
  username VARCHAR(32) NOT NULL UNIQUE,
  firstname VARCHAR(32),
  surname VARCHAR(32),
  email VARCHAR(255),
  password VARCHAR(255),
  bio TEXT,
  instagram VARCHAR(100),
  phone VARCHAR(20),
  joined BIGINT,
  email_activated BOOLEAN NOT NULL DEFAULT false,
  is_private BOOLEAN NOT NULL DEFAULT false
);

CREATE TABLE groups1 (
  group_id SERIAL PRIMARY KEY,
  name VARCHAR(100) NOT NULL,
  bio TEXT,
  admin INT NOT NULL OWNED_BY users(id),
  group_type VARCHAR(10) NOT NULL DEFAULT 'public',
  created BIGINT
);

CREATE TABLE group_members (
  grp_mem_id SERIAL PRIMARY KEY,
  group_id INT NOT NULL REFERENCES ONLY groups1(group_id) ON DELETE CASCADE,
  member INT NOT NULL OWNED_BY users(id),
  added_by INT ACCESSED_BY users(id),
  joined_group BIGINT
);

CREATE TABLE tags (
  tag_id SERIAL PRIMARY KEY,
  "user" INT NOT NULL OWNED_BY users(id),
  tag VARCHAR(50) NOT NULL
);

CREATE TABLE posts (
  post_id SERIAL PRIMARY KEY,
  user_id INT NOT NULL OWNED_BY users(id),
  description TEXT,
  img_src TEXT,
  filter VARCHAR(50),
  location VARCHAR(100),
  type VARCHAR(10) NOT NULL DEFAULT 'user',
  group_id INT REFERENCES ONLY groups1(group_id) ON DELETE SET NULL,
  post_time BIGINT
);
CREATE INDEX posts_user ON posts(user_id);

CREATE TABLE blocks (
  block_id SERIAL PRIMARY KEY,
  block_by INT NOT NULL OWNED_BY users(id),
  "user" INT NOT NULL REFERENCES ONLY users(id) ON DELETE CASCADE,
  block_time BIGINT
);

CREATE TABLE bookmarks (
  bkmrk_id SERIAL PRIMARY KEY,
  bkmrk_by INT NOT NULL OWNED_BY users(id),
  post_id INT NOT NULL REFERENCES ONLY posts(post_id) ON DELETE CASCADE,
  bkmrk_time BIGINT
);

CREATE TABLE comments (
  comment_id SERIAL PRIMARY KEY,
  type VARCHAR(10) NOT NULL DEFAULT 'text',
  text TEXT,
  comment_src TEXT,
  comment_by INT NOT NULL OWNED_BY users(id),
  post_id INT NOT NULL REFERENCES ONLY posts(post_id) ON DELETE CASCADE,
  comment_time BIGINT
);
CREATE INDEX comments_post ON comments(post_id);

CREATE TABLE conversations (
  con_id SERIAL PRIMARY KEY,
  user_one INT NOT NULL OWNED_BY users(id),
  user_two INT NOT NULL OWNED_BY users(id),
  con_time BIGINT
);

CREATE TABLE favourites (
  fav_id SERIAL PRIMARY KEY,
  fav_by INT NOT NULL OWNED_BY users(id),
  "user" INT NOT NULL REFERENCES ONLY users(id) ON DELETE CASCADE,
  fav_time BIGINT
);

CREATE TABLE follow_system (
  follow_id SERIAL PRIMARY KEY,
  follow_by INT NOT NULL OWNED_BY users(id),
  follow_to INT NOT NULL REFERENCES ONLY users(id) ON DELETE CASCADE,
  follow_time BIGINT
);

CREATE TABLE hashtags (
  hashtag_id SERIAL PRIMARY KEY,
  hashtag VARCHAR(100) NOT NULL,
  user_id INT NOT NULL OWNED_BY users(id),
  post_id INT REFERENCES ONLY posts(post_id) ON DELETE SET NULL,
  hashtag_time BIGINT
);

CREATE TABLE likes (
  like_id SERIAL PRIMARY KEY,
  like_by INT NOT NULL OWNED_BY users(id),
  post_id INT NOT NULL REFERENCES ONLY posts(post_id) ON DELETE CASCADE,
  like_time BIGINT
);
CREATE INDEX likes_post ON likes(post_id);

CREATE TABLE messages (
  message_id SERIAL PRIMARY KEY,
  con_id INT REFERENCES ONLY conversations(con_id) ON DELETE SET NULL,
  mssg_by INT NOT NULL OWNED_BY users(id),
  mssg_to INT NOT NULL OWNED_BY users(id),
  message TEXT,
  type VARCHAR(10) NOT NULL DEFAULT 'text',
  status VARCHAR(10) NOT NULL DEFAULT 'unread',
  message_time BIGINT
);
CREATE INDEX messages_con ON messages(con_id);

CREATE TABLE notifications (
  notify_id SERIAL PRIMARY KEY,
  notify_by INT NOT NULL REFERENCES ONLY users(id) ON DELETE CASCADE,
  notify_to INT NOT NULL OWNED_BY users(id),
  post_id INT REFERENCES ONLY posts(post_id) ON DELETE CASCADE,
  type VARCHAR(20),
  status VARCHAR(10) NOT NULL DEFAULT 'unread',
  notify_time BIGINT
);

CREATE TABLE post_tags (
  post_tag_id SERIAL PRIMARY KEY,
  post_id INT NOT NULL REFERENCES ONLY posts(post_id) ON DELETE CASCADE,
  "user" INT NOT NULL OWNED_BY users(id)
);

CREATE TABLE profile_views (
  view_id SERIAL PRIMARY KEY,
  view_by INT NOT NULL OWNED_BY users(id),
  view_to INT NOT NULL REFERENCES ONLY users(id) ON DELETE CASCADE,
  view_time BIGINT
);

CREATE TABLE recommendations (
  recommend_id SERIAL PRIMARY KEY,
  recommend_by INT NOT NULL OWNED_BY users(id),
  recommend_to INT NOT NULL REFERENCES ONLY users(id) ON DELETE CASCADE,
  recommend_of INT NOT NULL REFERENCES ONLY users(id) ON DELETE CASCADE,
  recommend_time BIGINT
);

CREATE TABLE shares (
  share_id SERIAL PRIMARY KEY,
  share_by INT NOT NULL OWNED_BY users(id),
  share_to INT REFERENCES ONLY users(id) ON DELETE SET NULL,
  post_id INT NOT NULL REFERENCES ONLY posts(post_id) ON DELETE CASCADE,
  share_time BIGINT
);
