-- Mia owns the shop. Ada has a login, Gus bought as a guest, Tia is a trader whose contact is her company's; Ada works for it.
INSERT INTO auth_user (id, username, email) VALUES (1, 'mia', 'mia@shop.example'), (2, 'ada', 'ada@example.org'), (4, 'tia', 'tia@trade.example');
INSERT INTO shuup_contact (id, name, email, tax_number) VALUES
  (11, 'Mia', 'mia@shop.example', NULL), (12, 'Ada', 'ada@example.org', NULL), (13, 'Gus', 'gus@example.org', NULL), (14, 'Trade', 'office@trade.example', 'T-14');
INSERT INTO shuup_personcontact (pid, contact_ptr_id, user_id, first_name) VALUES (1, 11, 1, 'Mia'), (2, 12, 2, 'Ada'), (3, 13, NULL, 'Gus'), (4, 14, 4, 'Tia');
INSERT INTO shuup_companycontact VALUES (14, 'T-14');
INSERT INTO shuup_companycontact_members (id, companycontact_id, contact_id) VALUES (1, 14, 2), (2, 14, 4);
INSERT INTO shuup_shop (id, identifier, owner_id) VALUES (1, 'engines', 1);
INSERT INTO shuup_gdpr_gdpruserconsent (id, user_id, shop_id) VALUES (1, 2, 1), (2, 4, 1);
-- Ada moved: 21 was her default address and is no longer, an order still uses it; 22 is her default now; 23 she never ordered to.
INSERT INTO shuup_mutaddress (id, contact_id, user_id, name, phone, email, street, postal_code, city, country, tax_number) VALUES
  (21, 12, 2, 'Ada', '555-21', 'ada@example.org', 'Old Street 1', '10', 'Oldtown', 'GB', NULL),
  (22, 12, 2, 'Ada', '555-22', 'ada@example.org', 'New Street 2', '20', 'Newtown', 'GB', NULL),
  (23, 12, 2, 'Ada at her mother''s', '555-23', NULL, 'Far Street 3', '30', 'Faraway', 'FR', NULL),
  (24, 13, NULL, 'Gus', '555-24', 'gus@example.org', 'Guest Street 4', '40', 'Gusby', 'DK', NULL),
  (25, 14, 4, 'Trade', '555-25', 'office@trade.example', 'Dock 5', '50', 'Harbour', 'NL', 'T-14');
UPDATE shuup_contact SET default_billing_address_id = 22, default_shipping_address_id = 22 WHERE id = 12;
UPDATE shuup_contact SET default_billing_address_id = 25 WHERE id = 14;
INSERT INTO shuup_basket (id, key, customer_id, orderer_id, creator_id) VALUES (1, 'b1', 2, 2, 2), (2, 'b2', 4, 2, 2);
INSERT INTO shuup_order (id, identifier, shop_id, customer_id, creator_id, modified_by_id, orderer_id, account_manager_id, billing_address_id,
    email, phone, ip_address, customer_comment, tax_number, taxful_total) VALUES
  (31, 'o31', 1, 12, 2, 1, 2, NULL, 21, 'ada@example.org', '555-21', '192.0.2.2', 'Ring twice', NULL, 10),
  (32, 'o32', 1, 12, 2, NULL, 2, NULL, 22, 'ada@example.org', '555-22', '192.0.2.2', NULL, NULL, 20),
  (33, 'o33', 1, 13, NULL, NULL, 3, NULL, 24, 'gus@example.org', '555-24', '192.0.2.3', 'A gift', NULL, 30),
  (34, 'o34', 1, 14, 2, NULL, 2, 4, 25, 'office@trade.example', '555-25', '192.0.2.2', 'For the office', 'T-14', 40);
INSERT INTO shuup_orderline (id, order_id, text) VALUES (1, 31, 'Cog'), (2, 32, 'Wheel'), (3, 33, 'Clock'), (4, 34, 'Anchor');
INSERT INTO shuup_payment (id, order_id, payment_identifier, amount) VALUES (1, 31, 'p31', 10), (2, 32, 'p32', 20), (3, 33, 'p33', 30), (4, 34, 'p34', 40);
