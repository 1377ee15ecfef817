//! HTTP clients with hyper: a connector for the pooled client of hyper-util.
//!
//! The first request on a new connection travels as early data if the session store has a forward-secret
//! ticket, transparently to the program. `docs/library.md` in the repository has a whole program.
//!
//! ```no_run
//! use http::Uri;
//! use http_body_util::Empty;
//! use hyper::body::Bytes;
//! use hyper_util::client::legacy::Client;
//! use hyper_util::rt::TokioExecutor;
//! use tessera_tokio::Connector;
//! use tessera_tokio::hyper::{HttpsConnector, first_flight_error};
//!
//! # async fn example(connector: Connector) {
//! let client = Client::builder(TokioExecutor::new()).build(HttpsConnector::new(connector));
//! # let _: &Client<_, Empty<Bytes>> = &client;
//! match client.get(Uri::from_static("https://server.example/")).await {
//!     Ok(response) => println!("{}", response.status()),
//!     Err(error) => match first_flight_error(&error) {
//!         // Whether it may be sent again, and the flight's name.
//!         Some(error) => println!("{error}: {:?}", error.flight()),
//!         None => println!("{error}"),
//!     },
//! }
//! # }
//! ```
//!
//! **Nothing is executed twice.** hyper-util resends a request by itself only if its connection never took it
//! (`retry_canceled_requests`, on by default): no part of such a request was in a first flight, so the
//! setting may stay on. A request that was in one fails with [`first_flight_error`].

mod connector;
mod report;
mod stream;

pub use connector::HttpsConnector;
pub use report::{FlightReport, first_flight_error};
pub use stream::HttpsStream;
