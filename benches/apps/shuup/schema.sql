-- Shuup, shops: the core of its tables. People are natural persons with or without a login; a company is a contact of somebody's.
-- The policy: orders and payments stay with the shop for tax (amounts, country, tax number), without the person who is forgotten.

CREATE TABLE auth_user (
  id SERIAL PRIMARY KEY,
  username VARCHAR(150) NOT NULL UNIQUE,
  password VARCHAR(128) NOT NULL DEFAULT '',
  email VARCHAR(254),
  first_name VARCHAR(30),
  last_name VARCHAR(150),
  is_active BOOLEAN NOT NULL DEFAULT true,
  is_staff BOOLEAN NOT NULL DEFAULT false,
  date_joined TIMESTAMP,
  last_login TIMESTAMP
);

CREATE TABLE shuup_contact (
  id SERIAL PRIMARY KEY,
  identifier VARCHAR(64) UNIQUE,
  name VARCHAR(256),
  email VARCHAR(254),
  phone VARCHAR(64),
  language VARCHAR(10),
  tax_number VARCHAR(64),
  marketing_permission BOOLEAN NOT NULL DEFAULT false,
  is_active BOOLEAN NOT NULL DEFAULT true,
  created_on TIMESTAMP,
  default_billing_address_id INT,
  default_shipping_address_id INT
);

CREATE DATA_SUBJECT TABLE shuup_personcontact (
  pid SERIAL PRIMARY KEY,
  contact_ptr_id INT NOT NULL UNIQUE OWNS shuup_contact(id),
  user_id INT UNIQUE OWNS auth_user(id),
  first_name VARCHAR(30),
  last_name VARCHAR(150),
  gender VARCHAR(1),
  birth_date DATE
);

CREATE TABLE shuup_companycontact (
  contact_ptr_id INT PRIMARY KEY OWNED_BY shuup_contact(id),
  tax_number VARCHAR(64)
);

CREATE TABLE shuup_companycontact_members (
  id SERIAL PRIMARY KEY,
  companycontact_id INT NOT NULL OWNED_BY shuup_companycontact(contact_ptr_id),
  contact_id INT ACCESSED_BY shuup_personcontact(pid),
  ON DEL contact_id DELETE_ROW
);

CREATE TABLE shuup_shop (
  id SERIAL PRIMARY KEY,
  identifier VARCHAR(128) NOT NULL UNIQUE,
  domain VARCHAR(128),
  status SMALLINT NOT NULL DEFAULT 1,
  currency VARCHAR(4) NOT NULL DEFAULT 'EUR',
  owner_id INT NOT NULL OWNED_BY shuup_personcontact(pid)
);

CREATE TABLE shuup_gdpr_gdpruserconsent (
  id SERIAL PRIMARY KEY,
  created_on TIMESTAMP,
  user_id INT NOT NULL OWNED_BY auth_user(id),
  shop_id INT NOT NULL REFERENCES ONLY shuup_shop(id) ON DELETE CASCADE
);

-- contact_id is not in the application: without it an address that no order uses would have no owner,
-- and the address of a guest, who has no user_id, would not be anonymised.
CREATE TABLE shuup_mutaddress (
  id SERIAL PRIMARY KEY,
  contact_id INT NOT NULL OWNED_BY shuup_contact(id),
  user_id INT ACCESSED_BY auth_user(id),
  name VARCHAR(256),
  phone VARCHAR(64),
  email VARCHAR(128),
  street VARCHAR(256),
  postal_code VARCHAR(64),
  city VARCHAR(256),
  country VARCHAR(2),
  tax_number VARCHAR(64),
  ON DEL contact_id ANON (contact_id, name, phone, email, street, postal_code, city),
  ON DEL user_id ANON (user_id, name, phone, email, street, postal_code, city)
);

ALTER TABLE shuup_contact ADD FOREIGN KEY (default_billing_address_id) REFERENCES ONLY shuup_mutaddress(id) ON DELETE SET NULL;
ALTER TABLE shuup_contact ADD FOREIGN KEY (default_shipping_address_id) REFERENCES ONLY shuup_mutaddress(id) ON DELETE SET NULL;

CREATE TABLE shuup_basket (
  id SERIAL PRIMARY KEY,
  key VARCHAR(32) NOT NULL UNIQUE,
  customer_id INT NOT NULL OWNED_BY shuup_personcontact(pid),
  orderer_id INT ACCESSED_BY shuup_personcontact(pid),
  creator_id INT REFERENCES ONLY auth_user(id) ON DELETE SET NULL,
  product_count INT NOT NULL DEFAULT 0,
  data TEXT,
  finished BOOLEAN NOT NULL DEFAULT false
);

-- The shop's owner owns its orders with the customer, because they must be kept; what identifies the customer is theirs alone to see.
CREATE TABLE shuup_order (
  id SERIAL PRIMARY KEY,
  identifier VARCHAR(64) NOT NULL UNIQUE,
  shop_id INT NOT NULL OWNED_BY shuup_shop(id),
  customer_id INT OWNED_BY shuup_contact(id),
  creator_id INT OWNED_BY auth_user(id),
  modified_by_id INT ACCESSED_BY auth_user(id),
  orderer_id INT ACCESSED_BY shuup_personcontact(pid),
  account_manager_id INT ACCESSED_BY shuup_personcontact(pid),
  billing_address_id INT OWNS shuup_mutaddress(id),
  order_date TIMESTAMP,
  email VARCHAR(128),
  phone VARCHAR(64),
  ip_address VARCHAR(45),
  language VARCHAR(10),
  customer_comment TEXT,
  tax_number VARCHAR(64),
  currency VARCHAR(4) NOT NULL DEFAULT 'EUR',
  taxful_total NUMERIC(36,9) NOT NULL DEFAULT 0,
  payment_status SMALLINT NOT NULL DEFAULT 0,
  ON DEL shop_id ANON (shop_id),
  ON DEL customer_id ANON (customer_id, email, phone, ip_address, customer_comment),
  ON DEL creator_id ANON (creator_id, ip_address),
  ON GET shop_id ANON (email, phone, ip_address, customer_comment),
  ON GET modified_by_id ANON (email, phone, ip_address, customer_comment)
);
CREATE INDEX shuup_order_customer ON shuup_order(customer_id);

-- An address stays with the order that was billed to it; of another's address the order's owners get what is kept for tax.
ALTER TABLE shuup_mutaddress ADD ON GET shuup_order(billing_address_id) ANON (name, phone, email, street, postal_code, city);

CREATE TABLE shuup_orderline (
  id SERIAL PRIMARY KEY,
  order_id INT NOT NULL OWNED_BY shuup_order(id),
  text VARCHAR(256),
  sku VARCHAR(48),
  quantity NUMERIC(36,9) NOT NULL DEFAULT 1,
  base_unit_price NUMERIC(36,9) NOT NULL DEFAULT 0,
  ON DEL order_id DELETE_ROW
);

CREATE TABLE shuup_payment (
  id SERIAL PRIMARY KEY,
  order_id INT NOT NULL OWNED_BY shuup_order(id),
  created_on TIMESTAMP,
  payment_identifier VARCHAR(96) NOT NULL UNIQUE,
  amount NUMERIC(36,9) NOT NULL DEFAULT 0,
  description VARCHAR(256),
  ON DEL order_id DELETE_ROW
);
