//! TLS for `--tls`: one self-signed certificate for all servers of a run, in its temporary folder, and the clients' side, which trusts that one alone.
//!
//! Statements go through an adapter between `postgres` and rustls; the streams of other protocols are read and written in place.

use std::future::Future;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use postgres::Socket;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;

use crate::server::{Failure, quietly};

/// Whom the certificate names, and where clients connect.
const HOST: &str = "127.0.0.1";

/// The certificate of a run, and what its clients need.
#[derive(Clone)]
pub struct Tls {
    /// In PEM; anyone may read it.
    pub certificate: PathBuf,
    /// In PEM; its owner alone may read it.
    pub key: PathBuf,
    config: Arc<ClientConfig>,
    /// What the last handshake of a client of `postgres` agreed on.
    agreed: Arc<Mutex<String>>,
}

impl Tls {
    /// Makes the certificate in this folder.
    pub fn new(folder: &Path) -> Result<Tls, Failure> {
        let made = rcgen::generate_simple_self_signed([HOST.to_string()])?;
        let (certificate, key) = (folder.join("tls.crt"), folder.join("tls.key"));
        std::fs::write(&certificate, made.cert.pem())?;
        write_private(&key, made.signing_key.serialize_pem().as_bytes())?;
        let mut roots = RootCertStore::empty();
        roots.add(made.cert.der().clone())?;
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Tls { certificate, key, config: Arc::new(config), agreed: Arc::default() })
    }

    /// A copy of the key in a server's own folder, which that user alone may read.
    pub fn key_of(&self, folder: &Path, user: &str) -> Result<PathBuf, Failure> {
        let path = folder.join("tls.key");
        write_private(&path, &std::fs::read(&self.key)?)?;
        if std::fs::read_dir("/root").is_ok() {
            quietly(Command::new("chown").arg(user).arg(&path))?;
        }
        Ok(path)
    }

    /// For a client of `postgres`.
    pub fn connector(&self) -> Connector {
        Connector { config: self.config.clone(), agreed: self.agreed.clone() }
    }

    /// Protocol and cipher that the last client of `postgres` agreed on with its server.
    pub fn agreed(&self) -> String {
        self.agreed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Encrypts a stream of another protocol from here on.
    pub fn stream(&self, stream: TcpStream) -> Result<Link, Failure> {
        let session = ClientConnection::new(self.config.clone(), ServerName::try_from(HOST)?)?;
        Ok(Link::Encrypted(Box::new(StreamOwned::new(session, stream))))
    }
}

fn write_private(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    Ok(file.write_all(content)?)
}

/// A stream of memcached's or MariaDB's protocol.
pub enum Link {
    /// In plain text.
    Plain(TcpStream),
    /// Under TLS.
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Link {
    /// Connects on loopback, in plain text.
    pub fn plain(port: u16) -> Result<TcpStream, Failure> {
        let stream = TcpStream::connect((HOST, port))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Connects on loopback, under TLS if there is any.
    pub fn open(port: u16, tls: Option<&Tls>) -> Result<Link, Failure> {
        let stream = Link::plain(port)?;
        match tls {
            Some(tls) => tls.stream(stream),
            None => Ok(Link::Plain(stream)),
        }
    }

    /// Protocol and cipher, if it is encrypted and has been used.
    pub fn agreed(&self) -> Option<String> {
        let Link::Encrypted(stream) = self else { return None };
        agreed(&stream.conn)
    }
}

fn agreed(session: &ClientConnection) -> Option<String> {
    Some(format!("{:?} {:?}", session.protocol_version()?, session.negotiated_cipher_suite()?.suite()))
}

impl Read for Link {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Link::Plain(stream) => stream.read(into),
            Link::Encrypted(stream) => stream.read(into),
        }
    }
}

impl Write for Link {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Link::Plain(stream) => stream.write(from),
            Link::Encrypted(stream) => stream.write(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Link::Plain(stream) => stream.flush(),
            Link::Encrypted(stream) => stream.flush(),
        }
    }
}

/// What `postgres` encrypts a connection with.
#[derive(Clone)]
pub struct Connector {
    config: Arc<ClientConfig>,
    agreed: Arc<Mutex<String>>,
}

/// A connection of `postgres` under TLS.
pub struct Encrypted(tokio_rustls::client::TlsStream<Socket>);

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Encrypted;
    type TlsConnect = Connector;
    type Error = io::Error;

    fn make_tls_connect(&mut self, _host: &str) -> io::Result<Connector> {
        Ok(self.clone())
    }
}

impl TlsConnect<Socket> for Connector {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(HOST).map_err(io::Error::other)?;
            let stream = TlsConnector::from(self.config).connect(name, socket).await?;
            let agreed =
                agreed(stream.get_ref().1).ok_or_else(|| io::Error::other("a handshake without an outcome"))?;
            *self.agreed.lock().unwrap_or_else(PoisonError::into_inner) = agreed;
            Ok(Encrypted(stream))
        })
    }
}

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
