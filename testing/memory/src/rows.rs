//! The attacks, one after the other.

use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use serde::Serialize;

use crate::Error;
use crate::attack::{AttackResult, attack};
use crate::ends::client::Client;
use crate::ends::connections::{PARALLEL, served};
use crate::ends::server::Server;
use crate::marks::Marks;
use crate::pki::Pki;
use crate::process::{self, Process};
use crate::recorder::Recorder;
use crate::slips::Slip;
use crate::way::Way;

/// State shared by all attacks.
pub struct Rows<'a> {
    pub program: &'a Path,
    pub pki: &'a Pki,
    pub told: OutputFormat,
}

/// The result of one attack.
#[derive(Serialize)]
struct Row {
    attacked: String,
    way: String,
    connections: usize,
    result: AttackResult,
}

impl Rows<'_> {
    /// Attacks a server after each of these numbers of connections; returns whether nothing was found.
    pub async fn server(&self, way: Way, connections: &[usize]) -> Result<bool, Error> {
        let directory = self.pki.directory();
        let (name, command) = if way.is_served() {
            ("tessera serve", process::serve(self.program, way, directory))
        } else {
            ("own server", process::own("server", way, directory)?)
        };
        let (process, address) = Process::server(command)?;
        let recorder = recorder();
        let marks = std::sync::Arc::<Marks>::default();
        let provider = recorder.provider();
        let client = Client::new(way, address, provider, directory, Some(marks.clone()))?;
        let mut clean = true;
        for count in connections {
            let captures = client.connect(*count).await?;
            tokio::time::sleep(PAUSE).await;
            let result = attack(&process.read()?, recorder, &marks, &captures);
            clean &= self.told.tell(name, way, *count, result)?;
        }
        Ok(clean)
    }

    /// Attacks a client after this many connections; returns whether nothing was found.
    pub async fn client(&self, way: Way, count: usize) -> Result<bool, Error> {
        let directory = self.pki.directory();
        let recorder = recorder();
        let server = Server::start(way, recorder, directory).await?;
        let address = server.address()?;
        let parallel = count.min(PARALLEL);
        let (name, snapshot, captures) = if let Some(mode) = way.load_mode() {
            // The last ones wait for an answer: the client still runs, and all others have ended.
            let counts = [count + parallel, parallel];
            let command = process::connect(self.program, way, mode, address, directory, counts);
            let process = Process::client(command)?;
            let fill = usize::from(way.is_resumption());
            let captures = server.serve(count + fill).await?;
            let waiting = server.keep_waiting(parallel).await?;
            tokio::time::sleep(PAUSE).await;
            let snapshot = process.read()?;
            // It would report connections without an answer.
            drop(process);
            drop(waiting);
            ("tessera connect", snapshot, captures)
        } else {
            let mut command = process::own("client", way, directory)?;
            command.args([address.to_string(), count.to_string()]);
            let mut process = Process::client(command)?;
            let captures = server.serve(served(way, count)).await?;
            process.ended()?;
            tokio::time::sleep(PAUSE).await;
            ("own client", process.read()?, captures)
        };
        let result = attack(&snapshot, recorder, &server.marks, &captures);
        self.told.tell(name, way, count, result)
    }

    /// Attacks servers with one flaw each; returns whether each was found.
    pub async fn slips(&self) -> Result<bool, Error> {
        let mut all = true;
        for slip in Slip::value_variants() {
            for way in slip.ways() {
                all &= self.slip(*slip, *way).await?;
            }
        }
        Ok(all)
    }

    async fn slip(&self, slip: Slip, way: Way) -> Result<bool, Error> {
        const COUNT: usize = 12;
        let directory = self.pki.directory();
        let name = slip.to_possible_value().map_or_else(String::new, |it| it.get_name().to_owned());
        let mut command = process::own("server", way, directory)?;
        command.arg(&name);
        let (process, address) = Process::server(command)?;
        let recorder = recorder();
        let marks = std::sync::Arc::<Marks>::default();
        let provider = recorder.provider();
        let client = Client::new(way, address, provider, directory, Some(marks.clone()))?;
        let captures = client.connect(COUNT).await?;
        tokio::time::sleep(PAUSE).await;
        let result = attack(&process.read()?, recorder, &marks, &captures);
        // The finding must be the expected one: all of what it keeps, or in the expected place.
        let is_found = |(secret, kind): &(&str, &str)| {
            result.findings.iter().any(|it| {
                let is_it = it.secret.starts_with(secret) && it.kind == *kind;
                let is_whole = it.secrets >= COUNT;
                let is_there = it.places.iter().any(|place| place.contains("(slip)"));
                is_it && if slip.keeps_one() { is_there } else { is_whole }
            })
        };
        let found = slip.expected().iter().all(is_found);
        let outcome = if found { "found, as it must be" } else { "NOT FOUND" };
        if self.told.json {
            println!(
                "{}",
                serde_json::json!({ "slip": name, "way": way.to_string(), "found": found })
            );
        } else {
            println!("slip {name}, {way}: {outcome}");
        }
        Ok(found)
    }
}

fn recorder() -> &'static Recorder {
    Box::leak(Box::default())
}

/// How to print results.
#[derive(Clone, Copy)]
pub struct OutputFormat {
    pub json: bool,
}

impl OutputFormat {
    /// Prints a result; returns whether nothing was found.
    fn tell(
        self,
        name: &str,
        way: Way,
        connections: usize,
        result: AttackResult,
    ) -> Result<bool, Error> {
        let clean = result.findings.is_empty();
        let row = Row { attacked: name.to_owned(), way: way.to_string(), connections, result };
        if self.json {
            println!("{}", serde_json::to_string(&row)?);
            return Ok(clean);
        }
        let AttackResult { bytes, threads, known, tried, recordings, findings } = &row.result;
        println!(
            "{name:<15} {:<21} {connections:>6} connections, {:>5.1} MB, {threads} threads, {known:>6} \
             known values, {tried:>6} strings on {recordings:>2} recordings: {}",
            row.way,
            *bytes as f64 / 1e6,
            if clean { "nothing" } else { "FOUND" },
        );
        for finding in findings {
            println!(
                "  {:<60} {:<5} {:>5} secrets {:>5} copies",
                finding.secret, finding.kind, finding.secrets, finding.copies
            );
            for place in &finding.places {
                println!("      {place}");
            }
        }
        Ok(clean)
    }
}

/// How long after the last connection's end the memory is read.
const PAUSE: Duration = Duration::from_millis(100);
