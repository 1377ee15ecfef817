//! PROXY headers: reading whole, split and malformed ones, and writing them.

use std::time::Duration;

use tessera_proxy::proxy_protocol::{
    Addresses, Command, DetectedProtocol, Header, HeaderError, HeaderLimits, MAX_UNIQUE_ID,
    Network, NetworkError, Tls, TrustedNetworks, read_header,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::time::{Instant, sleep};

const PREFIX: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// Encodes a header by hand: version and command, family and transport, and the rest with its length.
fn header(version_command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let len = u16::try_from(rest.len()).unwrap().to_be_bytes();
    [PREFIX, &[version_command, family], &len, rest].concat()
}

const IPV4: &[u8] = &[192, 0, 2, 7, 198, 51, 100, 1, 0xc8, 0x22, 0x15, 0x38];

fn ip(source: &str, destination: &str) -> Addresses {
    Addresses::Ip { source: source.parse().unwrap(), destination: destination.parse().unwrap() }
}

fn of_ipv4() -> Header {
    Header { addresses: ip("192.0.2.7:51234", "198.51.100.1:5432"), ..Header::default() }
}

fn value(kind: u8, value: &[u8]) -> Vec<u8> {
    let len = u16::try_from(value.len()).unwrap().to_be_bytes();
    [&[kind][..], &len, value].concat()
}

fn with(values: &[Vec<u8>]) -> Vec<u8> {
    header(0x21, 0x11, &[IPV4, &values.concat()].concat())
}

async fn read(bytes: &[u8]) -> Result<Header, HeaderError> {
    read_header(&mut &bytes[..], HeaderLimits::default()).await
}

/// A header with every field.
fn full() -> Header {
    Header {
        authority: Some("db.example".into()),
        alpn: Some(b"postgresql".to_vec()),
        unique_id: Some(vec![9; MAX_UNIQUE_ID]),
        tls: Some(Tls {
            is_encrypted: true,
            gave_certificate: true,
            gave_certificate_in_session: true,
            is_verified: true,
            version: Some("TLSv1.3".into()),
            common_name: Some("app.example".into()),
            cipher: Some("TLS_AES_128_GCM_SHA256".into()),
            signature_algorithm: Some("SHA256".into()),
            key_algorithm: Some("EC256".into()),
        }),
        flight: Some(vec![7; 32]),
        identity: Some(b"spiffe://x/y".to_vec()),
        ..of_ipv4()
    }
}

#[tokio::test]
async fn a_written_form_is_read_back() {
    let (mapped, unix) = ("[::ffff:192.0.2.7]:1", b"\0abstract".to_vec());
    let headers = [
        Header::default(),
        Header { command: Command::Local, ..Header::default() },
        Header { flight: Some(vec![1; 32]), ..Header::default() },
        of_ipv4(),
        Header { addresses: ip("[2001:db8::7]:1", "[2001:db8::1]:65535"), ..Header::default() },
        Header { addresses: ip(mapped, "[::1]:2"), ..Header::default() },
        Header {
            addresses: Addresses::Unix { source: unix, destination: vec![b'x'; 108] },
            ..Header::default()
        },
        Header { tls: Some(Tls::default()), ..of_ipv4() },
        full(),
    ];
    for header in headers {
        let bytes = header.write().unwrap();
        assert_eq!(Header::parse(&bytes).unwrap(), header);
        assert_eq!(read(&bytes).await.unwrap(), header);
    }
    // Two families are written as one.
    let mixed = Header { addresses: ip("192.0.2.7:1", "[::1]:2"), ..Header::default() };
    let read = Header::parse(&mixed.write().unwrap()).unwrap();
    assert_eq!(read.addresses, ip(mapped, "[::1]:2"));
}

#[tokio::test]
async fn the_bytes_are_those_of_the_specification() {
    assert_eq!(of_ipv4().write().unwrap(), header(0x21, 0x11, IPV4));
    let local = Header { command: Command::Local, ..full() };
    assert_eq!(local.write().unwrap(), header(0x20, 0, &[]), "it contains nothing else");
    assert_eq!(Header::default().write().unwrap(), header(0x21, 0, &[]));
    let ipv6 =
        [vec![0x20, 1, 0xd, 0xb8], vec![0; 11], vec![7], vec![0; 15], vec![1], vec![0, 1, 0, 2]];
    let header_of = Header { addresses: ip("[2001:db8::7]:1", "[::1]:2"), ..Header::default() };
    assert_eq!(header_of.write().unwrap(), header(0x21, 0x21, &ipv6.concat()));
    let mut unix = [0; 216];
    unix[..6].copy_from_slice(b"/run/x");
    let addresses = Addresses::Unix { source: b"/run/x".to_vec(), destination: Vec::new() };
    let of_unix = Header { addresses, ..Header::default() };
    assert_eq!(of_unix.write().unwrap(), header(0x21, 0x31, &unix));
    // struct pp2_tlv_ssl, with PP2_CLIENT_SSL, and no verified certificate.
    let tls = Tls { is_encrypted: true, version: Some("TLSv1.3".into()), ..Tls::default() };
    let ssl = [&[1, 0, 0, 0, 1][..], &value(0x21, b"TLSv1.3")].concat();
    let of_tls = Header { tls: Some(tls), flight: Some(vec![5]), ..of_ipv4() };
    assert_eq!(of_tls.write().unwrap(), with(&[value(0x20, &ssl), value(0xe0, &[5])]));
}

#[tokio::test]
async fn nothing_after_a_header_is_touched() {
    for header in [of_ipv4(), full(), Header { command: Command::Local, ..Header::default() }] {
        let stream = [&header.write().unwrap()[..], b"\x16\x03\x01 and so on"].concat();
        // At once, and byte by byte.
        for at_once in [stream.len(), 1] {
            let (mut near, mut far) = duplex(at_once);
            let sent = stream.clone();
            let sending = tokio::spawn(async move { near.write_all(&sent).await.unwrap() });
            assert_eq!(read_header(&mut far, HeaderLimits::default()).await.unwrap(), header);
            let mut rest = String::new();
            far.read_to_string(&mut rest).await.unwrap();
            assert_eq!(rest, "\u{16}\u{3}\u{1} and so on");
            sending.await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_header_cut_at_any_byte_is_reported_as_truncated() {
    let bytes = full().write().unwrap();
    for len in 0..bytes.len() {
        for result in [read(&bytes[..len]).await, Header::parse(&bytes[..len])] {
            let Err(HeaderError::Truncated { received }) = result else {
                panic!("{len} bytes: {result:?}");
            };
            assert_eq!(received, len);
        }
    }
}

/// Whichever byte is changed, there is a result and no panic; a change in the prefix is detected at once.
#[tokio::test]
async fn a_flipped_bit_in_a_header_gives_a_result_and_no_panic() {
    let bytes = full().write().unwrap();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut broken = bytes.clone();
            broken[at] ^= 1 << bit;
            let result = Header::parse(&broken);
            match at {
                0..12 => assert!(matches!(result, Err(HeaderError::NotAHeader { .. }))),
                12 if broken[at] == 0x20 => assert_eq!(result.unwrap().command, Command::Local),
                12 => assert!(
                    matches!(result, Err(HeaderError::UnknownVersion(byte)) if byte == broken[12])
                ),
                14 | 15 => assert!(result.is_err()),
                _ => (),
            }
            if at < 12 {
                let (mut near, mut far) = duplex(100);
                near.write_all(&broken[..=at]).await.unwrap();
                let result = read_header(&mut far, HeaderLimits::default()).await;
                assert!(matches!(result, Err(HeaderError::NotAHeader { .. })), "{at}: {result:?}");
            }
        }
    }
}

#[tokio::test]
async fn the_protocol_that_comes_instead_of_a_header_is_named() {
    let cases: [(&[u8], DetectedProtocol); 6] = [
        (b"PROXY TCP4 192.0.2.7 198.51.100.1 1 2\r\n", DetectedProtocol::Version1),
        (b"PROXY UNKNOWN\r\n", DetectedProtocol::Version1),
        (&[22, 3, 1, 2, 0, 1], DetectedProtocol::Tls),
        (b"GET / HTTP/1.1\r\n\r\n", DetectedProtocol::Unknown),
        (b"\r\n\r\nhello", DetectedProtocol::Unknown),
        (b"PRI * HTTP/2.0\r\n\r\n", DetectedProtocol::Unknown),
    ];
    for (bytes, expected) in cases {
        let error = read(bytes).await.unwrap_err();
        assert!(error.to_string().contains("send-proxy-v2"), "{error}");
        let HeaderError::NotAHeader { looks_like } = error else { panic!("{error}") };
        assert_eq!(looks_like, expected, "{}", bytes.escape_ascii());
    }
}

#[tokio::test]
async fn a_header_longer_than_the_limit_is_refused_before_it_comes() {
    let limits = HeaderLimits { len: 28, ..HeaderLimits::default() };
    let fits = header(0x21, 0x11, IPV4);
    assert_eq!(fits.len(), 28);
    assert_eq!(read_header(&mut &fits[..], limits).await.unwrap(), of_ipv4());
    let (mut near, mut far) = duplex(100);
    near.write_all(&[PREFIX, &[0x21, 0x11, 0xff, 0xff]].concat()).await.unwrap();
    let result = read_header(&mut far, HeaderLimits::default()).await;
    assert!(matches!(result, Err(HeaderError::TooLong { len: 65_551, limit: 4096 })), "{result:?}");
    let result = read_header(&mut &with(&[value(4, &[])])[..], limits).await;
    assert!(matches!(result, Err(HeaderError::TooLong { len: 31, limit: 28 })), "{result:?}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_sender_has_its_time_and_no_more() {
    for silent in [true, false] {
        let (mut near, mut far) = duplex(100);
        let sending = tokio::spawn(async move {
            for byte in full().write().unwrap() {
                if silent || near.write_all(&[byte]).await.is_err() {
                    break;
                }
                sleep(Duration::from_secs(1)).await;
            }
            // Keep the connection open.
            sleep(Duration::from_secs(3600)).await;
        });
        let started = Instant::now();
        let result = read_header(&mut far, HeaderLimits::default()).await;
        assert!(matches!(result, Err(HeaderError::TimedOut { .. })), "{result:?}");
        assert_eq!(started.elapsed(), Duration::from_secs(5));
        sending.abort();
    }
}

/// Sent by HAProxy 2.6: `send-proxy-v2 proxy-v2-options
/// ssl,cert-cn,ssl-cipher,cert-sig,cert-key,authority,crc32c,unique-id`.
#[tokio::test]
async fn a_header_of_haproxy_is_understood() {
    let bytes: &[&[u8]] = &[
        b"\r\n\r\n\0\r\nQUIT\n!\x11\0\x88",
        b"\x7f\0\0\x01\x7f\0\0\x01\xc6XH\x0b",
        b"\x03\0\x04H\xbcq\xf3",
        b"\x01\0\npostgresql",
        b"\x02\0\ndb.example",
        b"\x05\0\x07conn-97",
        b" \0N\x07\0\0\0\0",
        b"!\0\x07TLSv1.3",
        b"\"\0\x0eclient.example",
        b"%\0\x05EC256",
        b"$\0\nRSA-SHA256",
        b"#\0\x16TLS_AES_256_GCM_SHA384",
    ];
    let header = read(&bytes.concat()).await.unwrap();
    let expected = Header {
        addresses: ip("127.0.0.1:50776", "127.0.0.1:18443"),
        authority: Some("db.example".into()),
        alpn: Some(b"postgresql".to_vec()),
        unique_id: Some(b"conn-97".to_vec()),
        tls: Some(Tls {
            is_encrypted: true,
            gave_certificate: true,
            gave_certificate_in_session: true,
            is_verified: true,
            version: Some("TLSv1.3".into()),
            common_name: Some("client.example".into()),
            cipher: Some("TLS_AES_256_GCM_SHA384".into()),
            signature_algorithm: Some("RSA-SHA256".into()),
            key_algorithm: Some("EC256".into()),
        }),
        ..Header::default()
    };
    assert_eq!(header, expected);
}

/// "discard the protocol block including the family which is ignored"
#[tokio::test]
async fn of_a_local_header_nothing_else_counts() {
    let local = Header { command: Command::Local, ..Header::default() };
    for (family, rest) in [(0x11, IPV4), (0xff, &[]), (0x11, &[1, 2, 3]), (0, b"any other text !")]
    {
        assert_eq!(read(&header(0x20, family, rest)).await.unwrap(), local);
    }
}

/// Without a specified transport, the addresses after it have no meaning.
#[tokio::test]
async fn addresses_without_a_transport_are_none() {
    for (family, len) in [(0x10, 12), (0x20, 36), (0x30, 216)] {
        let read = read(&header(0x21, family, &vec![7; len])).await.unwrap();
        assert_eq!(read.addresses, Addresses::Unspecified, "{family:#x}");
    }
}

#[tokio::test]
async fn unknown_values_are_skipped() {
    let unknown = [0x04, 0x28, 0x30, 0x7f, 0xe2, 0xf0, 0xff].map(|kind| value(kind, b"?"));
    let mut values = vec![value(0xe0, &[7; 32])];
    values.extend(unknown);
    values.push(value(0x02, b"db.example"));
    let read = read(&with(&values)).await.unwrap();
    let expected =
        Header { flight: Some(vec![7; 32]), authority: Some("db.example".into()), ..of_ipv4() };
    assert_eq!(read, expected);
}

#[tokio::test]
async fn a_checksum_is_verified_where_there_is_one() {
    // CRC-32C of the header with zeros in its place, as HAProxy computes it; from another implementation.
    let mut bytes = with(&[value(3, &[0; 4]), value(0xe0, &[7])]);
    let at = 16 + IPV4.len() + 3;
    bytes[at..at + 4].copy_from_slice(&0xd706_85ed_u32.to_be_bytes());
    assert_eq!(read(&bytes).await.unwrap().flight, Some(vec![7]));
    for broken in [at, 20, bytes.len() - 1] {
        let mut bytes = bytes.clone();
        bytes[broken] ^= 1;
        assert!(matches!(read(&bytes).await, Err(HeaderError::Checksum)));
    }
    assert!(matches!(read(&with(&[value(3, &[0; 3])])).await, Err(HeaderError::Malformed(_))));
}

#[tokio::test]
async fn a_header_without_sense_is_malformed() {
    let address_too_short = header(0x21, 0x11, &IPV4[..11]);
    let ssl = |rest: &[u8]| value(0x20, &[&[1, 0, 0, 0, 0], rest].concat());
    let mut cut = with(&[value(0xe0, &[1, 2, 3])]);
    cut.pop();
    cut[15] -= 1;
    let cases = [
        address_too_short,
        header(0x21, 0x21, IPV4),
        header(0x21, 0x31, IPV4),
        header(0x21, 0x12, IPV4),
        header(0x21, 0x41, IPV4),
        header(0x21, 0x13, IPV4),
        with(&[vec![0xe0, 0]]),
        cut,
        with(&[value(0xe0, &[1]), value(0xe0, &[2])]),
        with(&[value(0xe1, b""), value(0xe1, b"")]),
        with(&[value(2, b"a"), value(2, b"a")]),
        with(&[value(2, &[0xff])]),
        with(&[value(5, &[0; MAX_UNIQUE_ID + 1])]),
        with(&[value(0x20, &[1, 0, 0, 0])]),
        with(&[ssl(&[0x21])]),
        with(&[ssl(&value(0x22, &[0xc3]))]),
        with(&[ssl(&[]), ssl(&[])]),
    ];
    for (index, bytes) in cases.iter().enumerate() {
        let result = read(bytes).await;
        assert!(matches!(result, Err(HeaderError::Malformed(_))), "{index}: {result:?}");
    }
    assert!(matches!(
        Header::parse(&[&with(&[])[..], b"x"].concat()),
        Err(HeaderError::Malformed(_))
    ));
}

/// Zero also means that there was nothing to verify: alone it proves no identity.
#[tokio::test]
async fn only_a_client_with_a_certificate_is_verified() {
    for (flags, verify, verified) in
        [(1, 0, false), (3, 0, true), (5, 0, true), (7, 1, false), (7, 0x0100_0000, false)]
    {
        let verify: u32 = verify;
        let ssl = [&[flags][..], &verify.to_be_bytes()].concat();
        let tls = read(&with(&[value(0x20, &ssl)])).await.unwrap().tls.unwrap();
        assert_eq!(tls.is_verified, verified, "{flags} {verify}");
        assert!(tls.is_encrypted);
    }
}

#[test]
fn a_header_with_a_value_too_long_is_not_written() {
    let too_long = [
        Header { identity: Some(vec![0; 1 << 16]), ..Header::default() },
        Header {
            identity: Some(vec![0; 40_000]),
            flight: Some(vec![0; 40_000]),
            ..Header::default()
        },
        Header { unique_id: Some(vec![0; MAX_UNIQUE_ID + 1]), ..Header::default() },
        Header {
            addresses: Addresses::Unix { source: vec![b'x'; 109], destination: Vec::new() },
            ..Header::default()
        },
        Header {
            tls: Some(Tls { version: Some("x".repeat(1 << 16)), ..Tls::default() }),
            ..Header::default()
        },
    ];
    for header in too_long {
        let result = header.write();
        assert!(
            matches!(result, Err(HeaderError::TooLong { len, limit }) if len > limit),
            "{:?}",
            result.map(|bytes| bytes.len())
        );
    }
}

#[test]
fn headers_are_required_from_trusted_networks_and_accepted_from_no_others() {
    let networks = ["10.0.0.0/8", "192.0.2.7", "2001:db8::/32", "0.0.0.0/32"];
    let networks = networks.map(|text| text.parse::<Network>().unwrap());
    assert_eq!(networks[1].to_string(), "192.0.2.7/32");
    let trusted = TrustedNetworks::new(networks);
    for (peer, expected) in [
        ("10.255.1.2", true),
        ("::ffff:10.1.2.3", true),
        ("11.0.0.0", false),
        ("192.0.2.7", true),
        ("192.0.2.8", false),
        ("2001:db8:ffff::1", true),
        ("2001:db9::", false),
        ("0.0.0.0", true),
        ("0.0.0.1", false),
        ("::1", false),
    ] {
        assert_eq!(trusted.requires_header(Some(peer.parse().unwrap())), expected, "{peer}");
    }
    assert!(!trusted.requires_header(None));
    assert!(TrustedNetworks::new(["unix".parse().unwrap()]).requires_header(None));
    let all = TrustedNetworks::new(["0.0.0.0/0", "::/0"].map(|text| text.parse().unwrap()));
    for peer in ["255.1.2.3", "::1", "::ffff:1.2.3.4"] {
        assert!(all.requires_header(Some(peer.parse().unwrap())));
    }
    assert!(!all.requires_header(None), "Unix sockets are named as such");
    assert!(TrustedNetworks::default().is_empty());
    for text in [
        "",
        "10.0.0.0/33",
        "::/129",
        "10.0.0/8",
        "localhost",
        "10.0.0.0/",
        "10.0.0.0/8/8",
        "::ffff:10.0.0.0/104",
    ] {
        assert_eq!(text.parse::<Network>(), Err(NetworkError::Unknown(text.into())), "{text}");
    }
    let slip = "10.0.0.1/8".parse::<Network>().unwrap_err();
    assert!(slip.to_string().contains("10.0.0.0/8"), "{slip}");
}

#[test]
fn networks_are_read_from_a_list_of_texts() {
    #[derive(serde::Deserialize)]
    struct Section {
        from: TrustedNetworks,
    }
    let section: Section = toml::from_str(r#"from = ["10.0.0.0/8", "unix"]"#).unwrap();
    assert!(section.from.requires_header(None));
    let error = toml::from_str::<Section>(r#"from = ["10.0.0.1/8"]"#).err().unwrap();
    assert!(error.to_string().contains("write the network, or the address alone"), "{error}");
}
