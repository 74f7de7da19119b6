//! TLS both ways in: asked for, and outright with the protocol's name.

use crate::client::{Client, packet, startup};
use crate::server::start;
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

fn open(address: SocketAddr, ask: bool, alpn: &[&[u8]]) -> StreamOwned<ClientConnection, TcpStream> {
    let mut socket = Client::open(address).stream;
    if ask {
        socket.write_all(&packet(&80_877_103i32.to_be_bytes())).expect("written");
        let mut answer = [0];
        socket.read_exact(&mut answer).expect("an answer");
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
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).expect("a client"), socket)
}

#[test]
fn logins_are_asked_for_over_tls_with_channel_binding() {
    let server = start(false);
    for (ask, alpn) in [(true, &[][..]), (true, &[&b"postgresql"[..]]), (false, &[&b"postgresql"[..]])] {
        let mut stream = open(server.address, ask, alpn);
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
        let mut stream = open(server.address, false, alpn);
        let asked = stream.write_all(&startup(3 << 16, &[("user", "controller")]));
        assert!(asked.is_err() || !matches!(stream.read(&mut [0]), Ok(1)));
    }
    server.switch.stop();
    server.join();
}
