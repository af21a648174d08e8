//! The shared HTTP clients: certificates, proxies, time limits.
//!
//! Built when first needed, three at most: for this machine (no proxy), for plain HTTP (no
//! certificates to load) and for HTTPS. The registry owns them; the transport and `local` use them.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::dns::Resolve;
use reqwest::{Certificate, Client, ClientBuilder, Url};

use super::trouble::innermost;
use crate::protocol::{Fault, FaultKind};

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The shared clients.
#[derive(Debug, Default)]
pub struct Http {
    ca_file: Option<PathBuf>,
    loopback: OnceLock<Result<Client, String>>,
    plain: OnceLock<Result<Client, String>>,
    secure: OnceLock<Result<Client, String>>,
}

impl Http {
    /// Clients that also trust the certificates in this PEM file (`DUNLIN_CA_FILE`). The system's
    /// store, `SSL_CERT_FILE` and proxies of the environment are respected anyway.
    pub fn new(ca_file: Option<PathBuf>) -> Self {
        Self {
            ca_file,
            ..Self::default()
        }
    }

    /// Builds the client for secure connections now. Costs milliseconds: call it off the UI thread,
    /// before the user sends the first prompt.
    pub fn warm(&self) {
        if self.secure().is_err() {
            tracing::warn!("the HTTPS client could not be built; the first request will tell why");
        }
    }

    /// The client for this address.
    pub(in crate::model) fn client(&self, url: &Url) -> Result<&Client, Fault> {
        let built = if url.scheme() == "http" {
            let no_certificates = || base().tls_certs_only(Vec::new());
            if is_loopback(url) {
                // A proxy of the environment has no business on this machine.
                self.loopback
                    .get_or_init(|| finish(no_certificates().no_proxy()))
            } else {
                self.plain.get_or_init(|| finish(no_certificates()))
            }
        } else {
            self.secure()
        };
        built.as_ref().map_err(|cause| unbuilt(cause))
    }

    /// The client for a server of tools at this address.
    pub(crate) fn for_servers(&self, address: &str) -> Result<Client, Fault> {
        let url = Url::parse(address).map_err(|error| {
            let message = format!("the address is not valid: {error}.");
            Fault::new(FaultKind::Config, message, "Mend `url` in its settings.")
        })?;
        self.client(&url).cloned()
    }

    fn secure(&self) -> &Result<Client, String> {
        self.secure.get_or_init(|| self.build_secure(&base))
    }

    /// A client for pages of the web: names are looked up by `resolver`, answers may be compressed.
    pub(crate) fn for_pages<R: Resolve + 'static>(
        &self,
        resolver: &Arc<R>,
    ) -> Result<Client, Fault> {
        self.build_secure(&|| base().gzip(true).dns_resolver(Arc::clone(resolver)))
            .map_err(|cause| unbuilt(&cause))
    }

    fn build_secure(&self, begin: &dyn Fn() -> ClientBuilder) -> Result<Client, String> {
        let own = self.own_certificates()?;
        finish(begin().tls_certs_merge(own.clone())).or_else(|_no_store| {
            // No certificate store on this machine (containers): Mozilla's roots.
            let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS;
            let roots = roots
                .iter()
                .filter_map(|der| Certificate::from_der(der).ok());
            finish(begin().tls_certs_only(roots.chain(own)))
        })
    }

    fn own_certificates(&self) -> Result<Vec<Certificate>, String> {
        let Some(path) = &self.ca_file else {
            return Ok(Vec::new());
        };
        let name = path.display();
        let pem = std::fs::read(path).map_err(|e| format!("{name} cannot be read: {e}"))?;
        let certificates = Certificate::from_pem_bundle(&pem)
            .map_err(|e| format!("{name} holds no certificates: {e}"))?;
        if certificates.is_empty() {
            return Err(format!("{name} holds no certificates"));
        }
        Ok(certificates)
    }
}

fn unbuilt(cause: &str) -> Fault {
    Fault::new(
        FaultKind::Config,
        format!("The HTTPS client could not be built: {cause}."),
        "Check the certificates that DUNLIN_CA_FILE or SSL_CERT_FILE name and the proxy settings.",
    )
}

fn base() -> ClientBuilder {
    // Installing twice fails harmlessly: the first one stays.
    let installed = rustls::crypto::ring::default_provider().install_default();
    drop(installed);
    Client::builder()
        .user_agent(concat!("dunlin/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .http2_keep_alive_interval(Duration::from_secs(30))
        .http2_keep_alive_timeout(Duration::from_secs(20))
        .redirect(reqwest::redirect::Policy::none())
        // Compressed events may be held back by servers.
        .no_gzip()
}

fn finish(builder: ClientBuilder) -> Result<Client, String> {
    builder.build().map_err(|error| innermost(&error))
}

pub(in crate::model) fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host
            .parse::<std::net::Ipv4Addr>()
            .is_ok_and(|ip| ip.is_loopback()),
        None => false,
    }
}
