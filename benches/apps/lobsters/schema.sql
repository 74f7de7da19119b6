-- Lobsters, a discussion board: 19 tables, three of them people (users, those who ask for an invitation, those who are invited).
-- parent_comment_id, thread_id, merged_story_id and the story and comment of a moderation are plain columns, as in the application.

CREATE TABLE keystores (
  key VARCHAR(50) PRIMARY KEY,
  value BIGINT
);

CREATE TABLE tags (
  id SERIAL PRIMARY KEY,
  tag VARCHAR(25) NOT NULL UNIQUE,
  description VARCHAR(100),
  privileged BOOLEAN NOT NULL DEFAULT false,
  is_media BOOLEAN NOT NULL DEFAULT false,
  inactive BOOLEAN NOT NULL DEFAULT false,
  hotness_mod DOUBLE PRECISION DEFAULT 0
);

CREATE DATA_SUBJECT TABLE users (
  id SERIAL PRIMARY KEY,
  username VARCHAR(50) NOT NULL,
  email VARCHAR(100),
  password_digest VARCHAR(75),
  created_at TIMESTAMP,
  is_admin BOOLEAN NOT NULL DEFAULT false,
  is_moderator BOOLEAN NOT NULL DEFAULT false,
  password_reset_token VARCHAR(75),
  session_token VARCHAR(75),
  rss_token VARCHAR(75),
  mailing_list_token VARCHAR(75),
  mailing_list_mode INT NOT NULL DEFAULT 0,
  about TEXT,
  karma INT NOT NULL DEFAULT 0,
  settings TEXT,
  invited_by_user_id INT REFERENCES ONLY users(id) ON DELETE SET NULL,
  banned_at TIMESTAMP,
  banned_by_user_id INT REFERENCES ONLY users(id) ON DELETE SET NULL,
  banned_reason VARCHAR(200),
  deleted_at TIMESTAMP
);
CREATE UNIQUE INDEX users_username ON users(username);
CREATE UNIQUE INDEX users_session_token ON users(session_token);

CREATE DATA_SUBJECT TABLE invitation_requests (
  id SERIAL PRIMARY KEY,
  code VARCHAR(255),
  is_verified BOOLEAN NOT NULL DEFAULT false,
  email VARCHAR(255),
  name VARCHAR(255),
  memo TEXT,
  ip_address VARCHAR(45),
  created_at TIMESTAMP NOT NULL DEFAULT now()
);

-- The invited person owns the row; so does who invited them, and their words go when they go.
CREATE DATA_SUBJECT TABLE invitations (
  id SERIAL PRIMARY KEY,
  user_id INT OWNED_BY users(id),
  email VARCHAR(255),
  code VARCHAR(255),
  memo TEXT,
  created_at TIMESTAMP NOT NULL DEFAULT now(),
  used_at TIMESTAMP,
  ON DEL user_id ANON (user_id, memo)
);

CREATE TABLE stories (
  id SERIAL PRIMARY KEY,
  created_at TIMESTAMP NOT NULL DEFAULT now(),
  user_id INT NOT NULL OWNED_BY users(id),
  url VARCHAR(250),
  title VARCHAR(150) NOT NULL DEFAULT '',
  description TEXT,
  short_id VARCHAR(6) NOT NULL UNIQUE,
  is_expired BOOLEAN NOT NULL DEFAULT false,
  is_moderated BOOLEAN NOT NULL DEFAULT false,
  upvotes INT NOT NULL DEFAULT 0,
  downvotes INT NOT NULL DEFAULT 0,
  hotness NUMERIC(20,10) NOT NULL DEFAULT 0,
  markeddown_description TEXT,
  story_cache TEXT,
  comments_count INT NOT NULL DEFAULT 0,
  merged_story_id INT,
  unavailable_at TIMESTAMP,
  twitter_id VARCHAR(20),
  user_is_author BOOLEAN NOT NULL DEFAULT false
);
CREATE INDEX stories_hotness ON stories(hotness);
CREATE INDEX stories_user ON stories(user_id);

CREATE TABLE hat_requests (
  id SERIAL PRIMARY KEY,
  created_at TIMESTAMP NOT NULL DEFAULT now(),
  user_id INT NOT NULL OWNED_BY users(id),
  hat VARCHAR(255),
  link VARCHAR(255),
  comment TEXT
);

CREATE TABLE tag_filters (
  id SERIAL PRIMARY KEY,
  created_at TIMESTAMP NOT NULL DEFAULT now(),
  user_id INT NOT NULL OWNED_BY users(id),
  tag_id INT NOT NULL REFERENCES tags(id)
);
CREATE INDEX tag_filters_user ON tag_filters(user_id, tag_id);

-- A comment stays with who wrote it when the story goes.
CREATE TABLE comments (
  id SERIAL PRIMARY KEY,
  created_at TIMESTAMP NOT NULL DEFAULT now(),
  updated_at TIMESTAMP,
  short_id VARCHAR(10) NOT NULL UNIQUE,
  story_id INT REFERENCES ONLY stories(id) ON DELETE SET NULL,
  user_id INT NOT NULL OWNED_BY users(id),
  parent_comment_id INT,
  thread_id INT,
  comment TEXT NOT NULL,
  upvotes INT NOT NULL DEFAULT 0,
  downvotes INT NOT NULL DEFAULT 0,
  confidence NUMERIC(20,19) NOT NULL DEFAULT 0,
  markeddown_comment TEXT,
  is_deleted BOOLEAN NOT NULL DEFAULT false,
  is_moderated BOOLEAN NOT NULL DEFAULT false,
  is_from_email BOOLEAN NOT NULL DEFAULT false,
  hat_id INT
);
CREATE INDEX comments_story ON comments(story_id);
CREATE INDEX comments_thread ON comments(thread_id);
CREATE INDEX comments_user ON comments(user_id);

-- Whoever granted a hat shares it with who wears it.
CREATE TABLE hats (
  id SERIAL PRIMARY KEY,
  created_at TIMESTAMP NOT NULL DEFAULT now(),
  user_id INT NOT NULL OWNED_BY users(id),
  granted_by_user_id INT NOT NULL OWNED_BY users(id),
  hat VARCHAR(255) NOT NULL,
  link VARCHAR(255),
  doffed_at TIMESTAMP,
  ON DEL user_id ANON (user_id, link),
  ON DEL granted_by_user_id ANON (granted_by_user_id)
);

CREATE TABLE hidden_stories (
  id SERIAL PRIMARY KEY,
  user_id INT NOT NULL OWNED_BY users(id),
  story_id INT NOT NULL REFERENCES ONLY stories(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX hidden_stories_user_story ON hidden_stories(user_id, story_id);

CREATE TABLE read_ribbons (
  id SERIAL PRIMARY KEY,
  is_following BOOLEAN NOT NULL DEFAULT true,
  created_at TIMESTAMP NOT NULL DEFAULT now(),
  updated_at TIMESTAMP NOT NULL DEFAULT now(),
  user_id INT NOT NULL OWNED_BY users(id),
  story_id INT NOT NULL REFERENCES ONLY stories(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX read_ribbons_user_story ON read_ribbons(user_id, story_id);

CREATE TABLE saved_stories (
  id SERIAL PRIMARY KEY,
  created_at TIMESTAMP NOT NULL DEFAULT now(),
  updated_at TIMESTAMP NOT NULL DEFAULT now(),
  user_id INT NOT NULL OWNED_BY users(id),
  story_id INT NOT NULL REFERENCES ONLY stories(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX saved_stories_user_story ON saved_stories(user_id, story_id);

CREATE TABLE suggested_titles (
  id SERIAL PRIMARY KEY,
  story_id INT NOT NULL REFERENCES ONLY stories(id) ON DELETE CASCADE,
  user_id INT NOT NULL OWNED_BY users(id),
  title VARCHAR(150) NOT NULL
);

-- A letter is its writer's and its reader's. Each loses their name in it, the other keeps it.
CREATE TABLE messages (
  id SERIAL PRIMARY KEY,
  created_at TIMESTAMP NOT NULL DEFAULT now(),
  author_user_id INT NOT NULL OWNED_BY users(id),
  recipient_user_id INT NOT NULL OWNED_BY users(id),
  has_been_read BOOLEAN NOT NULL DEFAULT false,
  subject VARCHAR(100),
  body TEXT,
  short_id VARCHAR(30) UNIQUE,
  deleted_by_author BOOLEAN NOT NULL DEFAULT false,
  deleted_by_recipient BOOLEAN NOT NULL DEFAULT false,
  ON DEL author_user_id ANON (author_user_id),
  ON DEL recipient_user_id ANON (recipient_user_id)
);

-- The log of moderation: who did it, and to whom if it was about a person. One of the two always stands there.
CREATE TABLE moderations (
  id SERIAL PRIMARY KEY,
  created_at TIMESTAMP NOT NULL DEFAULT now(),
  moderator_user_id INT NOT NULL OWNED_BY users(id),
  user_id INT OWNED_BY users(id),
  story_id INT,
  comment_id INT,
  action TEXT,
  reason TEXT,
  is_from_suggestions BOOLEAN NOT NULL DEFAULT false,
  ON DEL moderator_user_id ANON (moderator_user_id),
  ON DEL user_id ANON (user_id)
);

CREATE TABLE suggested_taggings (
  id SERIAL PRIMARY KEY,
  story_id INT NOT NULL REFERENCES ONLY stories(id) ON DELETE CASCADE,
  tag_id INT NOT NULL ACCESSES tags(id),
  user_id INT NOT NULL OWNED_BY users(id)
);

CREATE TABLE taggings (
  id SERIAL PRIMARY KEY,
  story_id INT NOT NULL OWNED_BY stories(id),
  tag_id INT NOT NULL ACCESSES tags(id)
);
CREATE UNIQUE INDEX taggings_story_tag ON taggings(story_id, tag_id);

-- A vote goes with what was voted on: on an erased comment it must not become a vote on the story.
CREATE TABLE votes (
  id SERIAL PRIMARY KEY,
  user_id INT NOT NULL OWNED_BY users(id),
  story_id INT NOT NULL REFERENCES ONLY stories(id) ON DELETE CASCADE,
  comment_id INT REFERENCES ONLY comments(id) ON DELETE CASCADE,
  vote SMALLINT NOT NULL CHECK (vote IN (-1, 1)),
  reason VARCHAR(1)
);
CREATE INDEX votes_user_comment_story ON votes(user_id, comment_id, story_id);
CREATE INDEX votes_story ON votes(story_id);
CREATE INDEX votes_comment ON votes(comment_id);
