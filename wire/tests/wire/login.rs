//! Coming and going: startup packets, passwords, encryption, limits, shutdown.

use crate::client::{Client, packet, startup};
use crate::server::{connect, data_folder, shared, start};
use engine::Engine;
use engine::config::Config;
use std::net::SocketAddr;
use std::time::Duration;
use wire::admission::WayIn;
use wire::server::{Server, ServerConfig, ServerError};

#[test]
fn insecure_asks_nothing_of_its_loopback_clients() {
    let server = shared();
    for (user, password) in [("controller", "wrong"), ("nobody", ""), ("nobody", server.password.as_str())] {
        let mut client = Client::login(server.address, user, password).unwrap_or_else(|_| panic!("{user} is kept out"));
        assert_eq!(client.rows("SELECT current_user"), [user]);
    }
}

#[test]
fn parameters_and_key_are_told_at_login() {
    let server = shared();
    let mut client = Client::open(server.address);
    client.write(&startup(3 << 16, &[("user", "controller"), ("client_encoding", "'utf-8'")]));
    let seen = client.authenticate(&server.password).expect("login");
    let parameters: Vec<String> = seen
        .iter()
        .filter(|message| message.kind == b'S')
        .map(|message| String::from_utf8_lossy(&message.body).trim_end_matches('\0').replace('\0', "="))
        .collect();
    for wanted in
        ["server_version=15", "client_encoding=UTF8", "integer_datetimes=on", "standard_conforming_strings=on"]
    {
        assert!(parameters.iter().any(|parameter| parameter.starts_with(wanted)), "{wanted}: {parameters:?}");
    }
    assert_eq!(client.secret.len(), 4);
}

#[test]
fn newer_protocols_are_negotiated_and_older_refused() {
    let server = shared();
    let mut client = Client::open(server.address);
    client.write(&startup((3 << 16) + 9999, &[("user", "controller"), ("_pq_.new", "1")]));
    let seen = client.authenticate(&server.password).expect("login");
    assert_eq!(seen[0].kind, b'v');
    assert_eq!(seen[0].body, b"\0\x03\0\x02\0\0\0\x01_pq_.new\0");
    assert_eq!(client.secret.len(), 32);
    let mut client = Client::open(server.address);
    client.write(&startup(2 << 16, &[("user", "controller")]));
    assert_eq!(client.read().expect("told why").code(), "0A000");
    assert!(client.is_closed());
}

#[test]
fn what_does_not_speak_the_protocol_is_left_alone() {
    let server = shared();
    let far_too_long = [&[0x7f, 0xff, 0xff, 0xff][..], &[0; 64]].concat();
    for bytes in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 16], &[0xff; 64], &far_too_long, &[0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0]]
    {
        let mut client = Client::open(server.address);
        client.write(bytes);
        assert!(client.is_closed());
    }
    // Neither does half a packet keep anyone else out.
    let _half: Vec<Client> = (0..20)
        .map(|_| {
            let mut client = Client::open(server.address);
            client.write(&[0, 0, 0, 40, 0, 3]);
            client
        })
        .collect();
    assert_eq!(connect().rows("SELECT 1"), ["1"]);
}

#[test]
fn gss_and_tls_are_declined_where_there_are_none() {
    let server = shared();
    let mut client = Client::open(server.address);
    for code in [80_877_104i32, 80_877_103] {
        client.write(&packet(&code.to_be_bytes()));
        let mut answer = [0];
        std::io::Read::read_exact(&mut client.stream, &mut answer).expect("an answer");
        assert_eq!(&answer, b"N");
    }
    client.write(&startup(3 << 16, &[("user", "controller")]));
    client.authenticate(&server.password).expect("login");
}

#[test]
fn plain_text_is_refused_without_insecure_and_insecure_off_loopback() {
    let server = start(false);
    let mut client = Client::open(server.address);
    client.write(&startup(3 << 16, &[("user", "controller")]));
    assert_eq!(client.read().expect("told why").code(), "28000");
    assert!(client.is_closed());
    server.switch.stop();
    server.join();

    let data = data_folder();
    let engine = Engine::open(Config::new(data.clone())).expect("engine opens");
    let config = ServerConfig {
        data: data.clone(),
        listen: SocketAddr::from(([0, 0, 0, 0], 0)),
        insecure: true,
        known_names: false,
        way_in: WayIn::default(),
        connections_max: Some(1),
        awake: Duration::ZERO,
    };
    assert!(matches!(Server::bind(&config, engine.clone()), Err(ServerError::InsecureAddress(_))));
    engine.shutdown().expect("everything is durable");
    std::fs::remove_dir_all(data).expect("removed");
}

#[test]
fn a_stopping_server_says_so_and_ends_what_runs() {
    let server = start(true);
    let login = || Client::login(server.address, "controller", &server.password).expect("login");
    let mut idle = login();
    let mut busy = login();
    busy.send(b'Q', b"SELECT n FROM generate_series(1, 3000000) n\0");
    assert_eq!(busy.read().expect("columns").kind, b'T');
    server.switch.stop();
    let last = idle.read().expect("told why");
    assert_eq!((last.code().as_str(), last.field(b'S').as_deref()), ("57P01", Some("FATAL")));
    assert!(idle.is_closed());
    while busy.read().is_ok() {}
    server.join();
}
