-- Socify, a social network: 19 tables, one of people. What an activity, comment or vote is about is named by type and number, so no foreign key says it.

CREATE TABLE schema_migrations (
  version VARCHAR(255) PRIMARY KEY
);

CREATE TABLE friendly_id_slugs (
  id SERIAL PRIMARY KEY,
  slug VARCHAR(255) NOT NULL,
  sluggable_id INT NOT NULL,
  sluggable_type VARCHAR(50),
  scope VARCHAR(255),
  created_at TIMESTAMP
);

-- What the points of a person hang on. The person names their sash; a sash alone names nobody.
CREATE TABLE sashes (
  id SERIAL PRIMARY KEY,
  created_at TIMESTAMP,
  updated_at TIMESTAMP
);

CREATE TABLE merit_scores (
  id SERIAL PRIMARY KEY,
  sash_id INT REFERENCES sashes(id),
  category VARCHAR(255) DEFAULT 'default'
);

CREATE TABLE merit_score_points (
  id SERIAL PRIMARY KEY,
  score_id INT REFERENCES merit_scores(id),
  num_points INT NOT NULL DEFAULT 0,
  log VARCHAR(255),
  created_at TIMESTAMP
);

CREATE DATA_SUBJECT TABLE users (
  id SERIAL PRIMARY KEY,
  name VARCHAR(255) NOT NULL DEFAULT '',
  email VARCHAR(255) NOT NULL UNIQUE,
  encrypted_password VARCHAR(255) NOT NULL DEFAULT '',
  about TEXT,
  avatar VARCHAR(255),
  cover VARCHAR(255),
  sex VARCHAR(10),
  dob DATE,
  location VARCHAR(255),
  phone_number VARCHAR(30),
  current_sign_in_at TIMESTAMP,
  current_sign_in_ip VARCHAR(45),
  last_sign_in_ip VARCHAR(45),
  sign_in_count INT NOT NULL DEFAULT 0,
  posts_count INT NOT NULL DEFAULT 0,
  sash_id INT REFERENCES sashes(id),
  level INT NOT NULL DEFAULT 0,
  created_at TIMESTAMP,
  updated_at TIMESTAMP
);

CREATE TABLE activities (
  id SERIAL PRIMARY KEY,
  trackable_id INT,
  trackable_type VARCHAR(50),
  owner_id INT NOT NULL OWNED_BY users(id),
  owner_type VARCHAR(50) NOT NULL DEFAULT 'User',
  key VARCHAR(255),
  parameters TEXT,
  recipient_id INT,
  recipient_type VARCHAR(50),
  created_at TIMESTAMP
);
CREATE INDEX activities_trackable ON activities(trackable_id, trackable_type);

CREATE TABLE authentications (
  id SERIAL PRIMARY KEY,
  user_id INT NOT NULL OWNED_BY users(id),
  provider VARCHAR(50) NOT NULL,
  uid VARCHAR(255) NOT NULL,
  token VARCHAR(255),
  token_expires_at TIMESTAMP
);

CREATE TABLE comments (
  id SERIAL PRIMARY KEY,
  title VARCHAR(50) DEFAULT '',
  comment TEXT,
  commentable_id INT,
  commentable_type VARCHAR(50),
  user_id INT NOT NULL OWNED_BY users(id),
  role VARCHAR(20) DEFAULT 'comments',
  comment_html TEXT,
  created_at TIMESTAMP
);
CREATE INDEX comments_commentable ON comments(commentable_id, commentable_type);

CREATE TABLE events (
  id SERIAL PRIMARY KEY,
  name VARCHAR(255) NOT NULL,
  event_datetime TIMESTAMP,
  user_id INT NOT NULL OWNED_BY users(id),
  cached_votes_up INT NOT NULL DEFAULT 0,
  comments_count INT NOT NULL DEFAULT 0,
  created_at TIMESTAMP
);

CREATE TABLE event_attendees (
  id SERIAL PRIMARY KEY,
  user_id INT NOT NULL OWNED_BY users(id),
  event_id INT NOT NULL REFERENCES ONLY events(id) ON DELETE CASCADE,
  status VARCHAR(20) NOT NULL DEFAULT 'attending',
  created_at TIMESTAMP
);

CREATE TABLE merit_actions (
  id SERIAL PRIMARY KEY,
  user_id INT NOT NULL OWNED_BY users(id),
  action_method VARCHAR(255),
  action_value INT,
  had_errors BOOLEAN NOT NULL DEFAULT false,
  target_model VARCHAR(255),
  target_id INT,
  processed BOOLEAN NOT NULL DEFAULT false,
  created_at TIMESTAMP
);

CREATE TABLE merit_activity_logs (
  id SERIAL PRIMARY KEY,
  action_id INT NOT NULL OWNED_BY merit_actions(id),
  related_change_type VARCHAR(255),
  related_change_id INT,
  description VARCHAR(255),
  created_at TIMESTAMP
);

CREATE TABLE photo_albums (
  id SERIAL PRIMARY KEY,
  title VARCHAR(255) NOT NULL,
  front_image_url VARCHAR(255),
  photos_count INT NOT NULL DEFAULT 0,
  user_id INT NOT NULL OWNED_BY users(id),
  created_at TIMESTAMP
);

CREATE TABLE photos (
  id SERIAL PRIMARY KEY,
  title VARCHAR(255),
  file VARCHAR(255) NOT NULL,
  photo_album_id INT NOT NULL OWNED_BY photo_albums(id),
  created_at TIMESTAMP
);

CREATE TABLE posts (
  id SERIAL PRIMARY KEY,
  content TEXT NOT NULL,
  content_html TEXT,
  user_id INT NOT NULL OWNED_BY users(id),
  attachment VARCHAR(255),
  cached_votes_up INT NOT NULL DEFAULT 0,
  comments_count INT NOT NULL DEFAULT 0,
  preview_html TEXT,
  created_at TIMESTAMP
);

CREATE TABLE follows (
  id SERIAL PRIMARY KEY,
  followable_id INT NOT NULL,
  followable_type VARCHAR(50) NOT NULL DEFAULT 'User',
  follower_id INT NOT NULL OWNED_BY users(id),
  follower_type VARCHAR(50) NOT NULL DEFAULT 'User',
  blocked BOOLEAN NOT NULL DEFAULT false,
  created_at TIMESTAMP
);

CREATE TABLE votes (
  id SERIAL PRIMARY KEY,
  votable_id INT,
  votable_type VARCHAR(50),
  voter_id INT NOT NULL OWNED_BY users(id),
  voter_type VARCHAR(50) NOT NULL DEFAULT 'User',
  vote_flag BOOLEAN,
  vote_scope VARCHAR(50),
  vote_weight INT,
  created_at TIMESTAMP
);

CREATE TABLE badges_sashes (
  id SERIAL PRIMARY KEY,
  badge_id INT,
  sash_id INT REFERENCES sashes(id),
  notified_user INT NOT NULL OWNED_BY users(id),
  created_at TIMESTAMP
);
