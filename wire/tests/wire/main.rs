//! The wire against a real server on loopback, byte by byte.
//!
//! `client` speaks the protocol without any driver, so that it can also speak it wrongly. One server is shared by the tests
//! that do not stop it.

mod client;
mod copy;
mod dataflow;
mod defects;
mod encryption;
mod extended;
mod login;
mod server;
mod subscription;
