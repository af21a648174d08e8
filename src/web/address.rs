//! Which addresses may be reached: public ones, unless private ones are allowed.
//!
//! A name is resolved here first, each of its addresses is looked at, and the client is then held to
//! exactly those (`Pins`): a name that means something else a moment later leads nowhere else.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The addresses that names were found to have when they were looked at.
#[derive(Debug, Default)]
pub(super) struct Pins(Mutex<HashMap<String, Vec<SocketAddr>>>);

impl Pins {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<SocketAddr>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Resolve for Pins {
    fn resolve(&self, name: Name) -> Resolving {
        let pinned = self.lock().get(name.as_str()).cloned();
        Box::pin(async move {
            let addresses = match pinned {
                Some(addresses) => addresses,
                // Only a proxy of the environment is not pinned: the user chose it.
                None => tokio::net::lookup_host((name.as_str(), 0)).await?.collect(),
            };
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Looks at where a URL leads and holds the client to it. The error is a sentence for the model.
pub(super) async fn reach(
    url: &Url,
    pins: &Pins,
    private: bool,
    proxied: bool,
) -> Result<(), String> {
    let Some(host) = url.host_str() else {
        return Err(format!("{url} names no host."));
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        return allowed(url, &[address], private);
    }
    let found = tokio::net::lookup_host((host, 0)).await;
    let addresses: Vec<SocketAddr> = match found {
        Ok(addresses) => addresses.collect(),
        // Behind a proxy names need not mean anything here.
        Err(_unknown) if proxied => return Ok(()),
        Err(error) => {
            return Err(format!(
                "{url} was not fetched: {host} could not be found ({error}). Check the address."
            ));
        }
    };
    let ips: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
    allowed(url, &ips, private)?;
    pins.lock().insert(host.to_owned(), addresses);
    Ok(())
}

/// All of them, not one: the client may use any.
fn allowed(url: &Url, addresses: &[IpAddr], private: bool) -> Result<(), String> {
    match addresses.iter().find(|ip| !private && !is_public(**ip)) {
        Some(ip) => Err(format!(
            "{url} was not fetched: it leads to {ip}, which is no public address. The user can allow \
             private addresses with web.private = true; for a server on this machine use bash and curl."
        )),
        None => Ok(()),
    }
}

/// True for addresses of the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let special = match (a, b, c) {
        // this network, shared by carriers, IETF protocols, benchmarks, multicast and reserved
        (0 | 224..=255, _, _) => true,
        (100, 64..=127, _) => true,
        (192, 0, 0) => true,
        (192, 88, 99) => true,
        (198, 18 | 19, _) => true,
        _ => false,
    };
    !(special || ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_documentation())
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let v4 =
        |high: u16, low: u16| is_public_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match ip.segments() {
        // IPv4 in another form: mapped, translated, 6to4
        [0, 0, 0, 0, 0, 0xffff, high, low] => v4(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        // Teredo, documentation
        [0x2001, 0 | 0xdb8, ..] => false,
        // only global unicast is public: not ::, ::1, unique local, link-local, site-local, multicast
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        for public in [
            "1.1.1.1",
            "93.184.216.34",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ] {
            assert!(is_public(public.parse().expect("an address")), "{public}");
        }
        for private in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "203.0.113.5",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001:0:1::",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(
                !is_public(private.parse().expect("an address")),
                "{private}"
            );
        }
    }

    #[tokio::test]
    async fn names_and_numbers_that_lead_home_are_refused_unless_allowed() {
        let pins = Pins::default();
        for home in [
            "http://127.0.0.1:8080/",
            "http://localhost/",
            "http://[::1]/",
            // the same in the other spellings that URLs allow
            "http://2130706433/",
            "http://0x7f.1/",
            "http://[::ffff:7f00:1]/",
        ] {
            let url = Url::parse(home).expect("an address");
            let refused = reach(&url, &pins, false, false).await.expect_err(home);
            assert!(refused.contains("no public address"), "{refused}");
            assert_eq!(reach(&url, &pins, true, false).await, Ok(()), "{home}");
        }
        assert!(
            pins.lock().contains_key("localhost"),
            "what was looked at is what is used"
        );
    }
}
