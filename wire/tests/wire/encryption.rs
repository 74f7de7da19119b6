//! TLS both ways in: asked for, and outright with the protocol's name.

use crate::client::{Client, packet, startup};
use crate::server::start;
use crate::subscription::{SILENCE, subscribe, told};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

/// Takes any certificate: the server's is its own.
#[derive(Debug)]
struct Anything;

impl ServerCertVerifier for Anything {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}

type Encrypted = StreamOwned<ClientConnection, TcpStream>;

fn open(address: SocketAddr, ask: bool, alpn: &[&[u8]]) -> Client<Encrypted> {
    let mut client = Client::open(address);
    if ask {
        client.write(&packet(&80_877_103i32.to_be_bytes()));
        let mut answer = [0];
        client.stream.read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, b"S");
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anything))
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    let name = ServerName::try_from("localhost").expect("a name");
    let tls = ClientConnection::new(Arc::new(config), name).expect("a client");
    client.over(|socket| StreamOwned::new(tls, socket))
}

#[test]
fn logins_are_asked_for_over_tls_with_channel_binding() {
    let server = start(false);
    for (ask, alpn) in [(true, &[][..]), (true, &[&b"postgresql"[..]]), (false, &[&b"postgresql"[..]])] {
        let mut stream = open(server.address, ask, alpn).stream;
        stream.write_all(&startup(3 << 16, &[("user", "controller")])).expect("written");
        let mut answer = vec![0; 9];
        stream.read_exact(&mut answer).expect("an answer");
        assert_eq!(answer[0], b'R');
        let mut names = vec![0; usize::from(answer[4]) + 1 - 9];
        stream.read_exact(&mut names).expect("mechanisms");
        assert_eq!(names, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    }
    // TLS for another protocol is not ours, nor is one that names none.
    for alpn in [&[][..], &[&b"h2"[..]]] {
        let mut stream = open(server.address, false, alpn).stream;
        let asked = stream.write_all(&startup(3 << 16, &[("user", "controller")]));
        assert!(asked.is_err() || !matches!(stream.read(&mut [0]), Ok(1)));
    }
    server.switch.stop();
    server.join();
}

#[test]
fn only_the_right_password_logs_in_and_who_exists_is_not_told() {
    let server = start(false);
    let attempt = |user: &str, password: &str| {
        let mut client = open(server.address, true, &[]);
        client.write(&startup(3 << 16, &[("user", user)]));
        let mut seen = Vec::new();
        let outcome = client.authenticate_seeing(password, &mut seen);
        (client, outcome, seen)
    };
    let (mut client, outcome, _) = attempt("controller", &server.password);
    outcome.expect("the right password");
    assert_eq!(client.rows("SELECT current_user"), ["controller"]);

    let almost = format!("{}x", server.password);
    let mut exchanges = Vec::new();
    for (user, password) in [
        ("controller", "wrong"),
        ("controller", ""),
        ("controller", &almost),
        ("nobody", "wrong"),
        ("nobody", &server.password),
    ] {
        let (mut client, outcome, seen) = attempt(user, password);
        let error = outcome.expect_err("a wrong login is refused");
        assert_eq!(error.describe(), format!("E 28P01 password authentication failed for user \"{user}\""));
        assert_eq!(error.field(b'S').as_deref(), Some("FATAL"));
        assert!(client.is_closed());
        // What was asked on the way is of one form: kinds and lengths, the salt but not the nonce, the iterations.
        let asked: Vec<(u8, usize)> = seen.iter().map(|message| (message.kind, message.body.len())).collect();
        let challenge = String::from_utf8(seen[1].body[4..].to_vec()).expect("SCRAM is text");
        let fields: Vec<&str> = challenge.split(',').collect();
        exchanges.push((user, asked, fields[1].to_string(), fields[2].to_string()));
    }
    let (_, asked, salt, iterations) = &exchanges[0];
    for (user, other_asked, other_salt, other_iterations) in &exchanges {
        assert_eq!((asked, iterations), (other_asked, other_iterations));
        // Nobody's salt is as steady as anybody's.
        let of_user = if *user == "controller" { salt } else { &exchanges[3].2 };
        assert_eq!(of_user, other_salt);
    }
    assert_ne!(salt, &exchanges[3].2);
    server.switch.stop();
    server.join();
}

#[test]
fn an_encrypted_client_may_be_silent_subscribe_and_read_late() {
    let server = start(false);
    let login = || {
        let mut client = open(server.address, true, &[]);
        client.write(&startup(3 << 16, &[("user", "controller")]));
        client.authenticate(&server.password).expect("login");
        client
    };
    let (mut writer, mut subscriber, mut late) = (login(), login(), login());
    writer.rows("CREATE TABLE wide (id INT PRIMARY KEY, body TEXT)");
    for client in [&mut subscriber, &mut late] {
        subscribe(client, "SELECT id, body FROM wide", "");
    }
    std::thread::sleep(SILENCE);
    for id in 0..20 {
        writer.rows(&format!("INSERT INTO wide VALUES ({id}, repeat('{id}', 500000))"));
        assert_eq!(told(&mut subscriber), format!("1\t{id}\t{}", id.to_string().repeat(500_000)));
    }
    for id in 0..20 {
        assert_eq!(told(&mut late), format!("1\t{id}\t{}", id.to_string().repeat(500_000)));
    }
    server.switch.stop();
    assert_eq!(subscriber.read().expect("told why").code(), "57P01");
    server.join();
}
