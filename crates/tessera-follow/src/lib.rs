//! An HTTP client that follows its server from proxy to proxy, and takes its session along.
//!
//! A server that wants a client elsewhere announces an alternative in its responses:
//! `Alt-Svc: h2="b.example:443"; ma=30` (RFC 7838). [`FollowingClient`] sends its next request there, over
//! hyper-util's pools and Tessera's [`HttpsConnector`](tessera_tokio::hyper::HttpsConnector). It connects to the
//! alternative as to the origin: server name, certificate, `Host` and session store are the origin's. If the proxies
//! share their ticket keys, the first request there resumes the client's session; if they share a vault too, it travels
//! as forward-secret early data.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use http_body_util::Empty;
//! use hyper::body::Bytes;
//! use tessera::ClientConfig;
//! use tessera::resume::Continuation;
//! use tessera_follow::{FollowingClient, Route};
//! use tessera_tokio::hyper::first_flight_error;
//! use tessera_tokio::{Connector, MemorySessionStore};
//!
//! # async fn example(mut config: ClientConfig) -> Result<(), Box<dyn std::error::Error>> {
//! config.protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
//! config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
//! let connector = Connector::new(config.checked()?)
//!     .with_sessions(Arc::new(MemorySessionStore::default()));
//! let client = FollowingClient::<Empty<Bytes>>::new(connector);
//! match client.get("https://server.example/".parse()?).await {
//!     Ok(response) => match response.extensions().get::<Route>() {
//!         Some(Route::Alternative(alternative)) => println!("answered by {alternative}"),
//!         _ => println!("answered by the origin"),
//!     },
//!     Err(error) => match first_flight_error(&error) {
//!         // It may have been executed: the caller decides whether to repeat it.
//!         Some(error) => println!("{error}: {:?}", error.flight()),
//!         None => println!("{error}"),
//!     },
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # When a client moves
//!
//! - **New requests go to the alternative at once.** Requests in progress finish where they are. The earlier proxy's
//!   connections end with the first answer of the next one: until then they still read tickets, and are there if the
//!   alternative is dead. While a request still waits there for its answer, hyper-util keeps that proxy's other
//!   connections too, until their own timeout.
//! - **A chain** leads from A to B to C by B's header. Back to A leads an alternative that is A, or the origin itself.
//! - **An alternative is left** when it is stale (`ma`, of which the response's `Age` is subtracted), after `clear`, and
//!   when a newer field replaces it. Malformed members are ignored, and fields of nothing else. An alternative of another
//!   protocol, such as `h3`, isn't followed. [`network_changed`](FollowingClient::network_changed) drops those without
//!   `persist=1`.
//! - **An alternative must prove to be the origin**, by its certificate or by the client's session (RFC 7838 §2.1).
//!   Therefore it may also have a port that any user of its host can open (§9.1). Fields count in responses over TLS
//!   alone: the client refuses `http://`.
//!
//! # When an alternative is dead
//!
//! | what happens at the alternative | the request | the alternative |
//! |---|---|---|
//! | no connection: refused, unreachable, another protocol, a certificate that isn't the origin's, or not within a second | goes to the origin at once | pauses |
//! | it was in a first flight that the server certainly discards (verdict `burned`) and that wasn't sent again | goes to the origin, if its body wasn't read | pauses |
//! | it was in a first flight, with any other verdict or none | fails with a [`first_flight_error`](tessera_tokio::hyper::first_flight_error) | pauses |
//! | its connection fails after it took the request | fails | pauses, unless it answered others meanwhile |
//! | status 421 | goes to the origin, if its body wasn't read; otherwise the response is returned | is forgotten, and pauses |
//! | silence | waits for as long as its caller does | pauses after a second, if it has never answered; otherwise when callers gave up after a second, together |
//!
//! **Nothing is executed twice.** A request goes to the origin only if no byte of it was sent, or the alternative proved
//! that it was and will not be executed. So one request may fail with each proxy that dies, and those after it don't.
//!
//! A pause begins with 5 seconds and doubles with each failure, up to 5 minutes; the alternative may be announced
//! meanwhile as often as the server likes. An answer ends it.
//!
//! A body needs no `Clone`: it stays in the client's hands until a connection reads it. An empty body is never read.
//!
//! Early data needs proxies that share a vault. At one that can't open the ticket, its verdict is `unknown`: leave early
//! data off in the configuration if not all proxies share ticket keys and vault.
//!
//! # Inside
//!
//! `alt_svc` reads the field, and `cache` decides where the next request goes; neither has a socket or a clock.
//! `attempt` is one request. `pools` has at most two clients of hyper-util for each origin, over `connector`, which
//! dials another host than the URI's.
#![forbid(unsafe_code)]

mod alt_svc;
mod alternative;
mod attempt;
mod body;
mod cache;
mod client;
mod connector;
mod pools;
mod recent;

pub use alternative::{Alternative, Protocol, Route};
pub use client::FollowingClient;
