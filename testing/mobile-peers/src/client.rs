//! A client, and what it reports.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tessera_test_peers::{PATIENCE, Process};

use crate::program::{Arm, Program};

/// One that runs.
pub struct Client(Process);

/// How often it sends, and when its path counts as lost.
#[derive(Clone, Copy, Debug)]
pub struct ClientOptions {
    /// The addresses of its interfaces.
    pub sources: &'static str,
    /// The file of the authority that it trusts.
    pub ca: &'static str,
    /// How many messages it sends: by default more than any test waits for, and its input is closed.
    pub acks: u64,
    /// How long an ack may take, in milliseconds.
    pub timeout_ms: u64,
    /// How many time-outs in a row begin a handshake.
    pub timeouts: u64,
    /// `timeout`, `rtt3` or `event`.
    pub detection: &'static str,
    /// Its server restarts.
    pub restarts: bool,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            sources: "127.0.0.2",
            ca: "ca.pem",
            acks: 1_000_000,
            // On a loaded machine, too, nothing is lost but what a test loses.
            timeout_ms: 15_000,
            timeouts: 1,
            detection: "event",
            restarts: false,
        }
    }
}

impl Client {
    /// Starts one, with a message each 10 ms.
    #[track_caller]
    pub fn start(program: &Program, arm: Arm, server: SocketAddr, options: ClientOptions) -> Self {
        let restarts: &[&str] = if options.restarts { &["--restarts", "1"] } else { &[] };
        let arguments = [
            "client",
            "--arm",
            arm.name,
            "--connect",
            &server.to_string(),
            "--ca",
            &program.file(options.ca),
            "--sources",
            options.sources,
            "--acks",
            &options.acks.to_string(),
            "--pace-ms",
            "10",
            "--timeout-ms",
            &options.timeout_ms.to_string(),
            "--timeouts",
            &options.timeouts.to_string(),
            "--detection",
            options.detection,
        ];
        Self(program.start(&[&arguments, restarts].concat()))
    }

    /// Waits for the ack of this message.
    #[track_caller]
    pub fn has_ack(&self, message: u64) -> &Self {
        self.0.wait_for(&format!("to have the ack of message {message}"), PATIENCE, || {
            self.events().acks().contains(&message).then_some(())
        });
        self
    }

    /// Waits for an ack after its newest socket, which must be one of this IP address.
    #[track_caller]
    pub fn has_ack_at(&self, ip: &str) -> &Self {
        self.0.wait_for(&format!("to have an ack at {ip}"), PATIENCE, || {
            let events = self.events();
            let socket = events.names().into_iter().rposition(|name| name == "socket")?;
            let is_there = events.addresses().last() == Some(&ip);
            let is_acked = events.names()[socket..].contains(&"ack");
            (is_there && is_acked).then_some(())
        });
        self
    }

    /// Waits for an ack after this handshake, or a later one.
    #[track_caller]
    pub fn has_ack_after_handshake(&self, number: usize) -> &Self {
        self.0.wait_for(&format!("to have an ack after handshake {number}"), PATIENCE, || {
            let events = self.events();
            let names = events.names();
            let mut ends = names.iter().enumerate().filter(|(_, name)| **name == "handshake_end");
            let (at, _) = ends.nth(number - 1)?;
            names[at..].contains(&"ack").then_some(())
        });
        self
    }

    /// Takes an interface down.
    #[track_caller]
    pub fn down(&mut self, interface: usize) -> &mut Self {
        self.order(&json!({ "interface": interface, "state": "down" }))
    }

    /// Takes it up again with this address.
    #[track_caller]
    pub fn up(&mut self, interface: usize, address: &str) -> &mut Self {
        self.order(&json!({ "interface": interface, "state": "up", "address": address }))
    }

    fn order(&mut self, line: &Value) -> &mut Self {
        self.0.tell(&format!("{line}\n"));
        self
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.0.kill();
    }

    /// Closes its input, and waits for its end.
    #[track_caller]
    pub fn stop(mut self) -> Events {
        self.0.end_input();
        self.ends()
    }

    /// Waits for its end with all acks.
    #[track_caller]
    pub fn ends(mut self) -> Events {
        assert!(self.0.ends(), "{}", self.0.output());
        self.events()
    }

    /// Waits for its failure; returns the reason.
    #[track_caller]
    pub fn fails(mut self) -> String {
        assert!(!self.0.ends(), "{}", self.0.output());
        let last = self.events().0.pop().expect("it reports why");
        assert_eq!(last["event"], "failed");
        last["why"].as_str().expect("a reason is text").to_owned()
    }

    fn events(&self) -> Events {
        let output = self.0.stdout();
        // The last line may not be complete.
        let lines = output.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        Events(lines.map(|line| serde_json::from_str(line).expect("it prints JSON")).collect())
    }
}

/// What a client reported.
pub struct Events(Vec<Value>);

impl Events {
    /// Those of this name, in their order.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |it| it["event"] == name)
    }

    /// The names of all, in their order.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().filter_map(|it| it["event"].as_str()).collect()
    }

    /// The messages that were acknowledged, in their order.
    pub fn acks(&self) -> Vec<u64> {
        self.named("ack").filter_map(|it| it["message"].as_u64()).collect()
    }

    /// What its handshakes were.
    pub fn handshakes(&self) -> Vec<&str> {
        self.named("handshake_end").filter_map(|it| it["kind"].as_str()).collect()
    }

    /// The IP addresses of its sockets.
    pub fn addresses(&self) -> Vec<&str> {
        let addresses = self.named("socket").filter_map(|it| it["address"].as_str());
        addresses.filter_map(|it| it.rsplit_once(':')).map(|(ip, _)| ip).collect()
    }

    /// A number that the last one has.
    pub fn end(&self, name: &str) -> u64 {
        self.0.last().and_then(|it| it[name].as_u64()).expect("the last event has it")
    }
}
