//! Measuring one row of the experiment `sites`.

use std::time::Duration;

use tessera_link::LinkParameters;

use super::path::{Path, SiteKind, patience};
use super::report::{Row, Sample};
use super::stage::Stage;
use crate::bench::{Pair, WARM_UP, both_saw, check, us};
use crate::control::{ClientOrder, ObservedFacts, Psk};
use crate::error::LabError;

impl Stage {
    /// Measures a path over links of these parameters, with this round-trip time between the sites.
    pub(super) fn row(
        &mut self,
        path: Path,
        parameters: &LinkParameters,
        site_rtt: Duration,
        repetitions: usize,
        done: impl Fn(),
    ) -> Result<Row, LabError> {
        // Steps that are not measured use links without delay.
        self.set_links(&LinkParameters::default(), Duration::ZERO)?;
        self.prepare(path, site_rtt, 2, true)?;
        let executions = self.replayed_after(path)?.max(self.replayed_before(path)?);
        self.prepare(path, site_rtt, repetitions + WARM_UP, false)?;

        self.set_links(parameters, site_rtt)?;
        let mut samples = Vec::with_capacity(repetitions);
        for repetition in 0..WARM_UP + repetitions {
            let pair = self.connect(path)?;
            if repetition >= WARM_UP {
                samples.push(sample(&pair));
                done();
            }
        }
        Ok(Row {
            path,
            mode: path.way().mode,
            told: path.told(),
            rtt_ms: parameters.rtt.as_secs_f64() * 1e3,
            site_rtt_ms: site_rtt.as_secs_f64() * 1e3,
            patience_ms: patience(site_rtt).as_secs_f64() * 1e3,
            samples,
            replay_executions: executions,
        })
    }

    /// The client connects on this path.
    fn connect(&mut self, path: Path) -> Result<Pair, LabError> {
        self.reach_home()?;
        self.turn_to(path.at());
        let address = self.bench.address;
        let pair =
            self.while_home_is(path, |stage| stage.bench.connect(&ClientOrder::Connect(address)))?;
        check_path(path, &pair)?;
        Ok(pair)
    }

    /// Runs a closure while the home site is stopped, for the path that requires it.
    fn while_home_is<T>(
        &mut self,
        path: Path,
        act: impl FnOnce(&mut Self) -> Result<T, LabError>,
    ) -> Result<T, LabError> {
        if !path.stops_home() {
            return act(self);
        }
        self.home().stop()?;
        let result = act(self);
        self.home().go_on()?;
        result
    }

    /// The client connects and, if its verdict allows it, sends again; then its recorded flight is replayed to both
    /// sites, home first.
    fn replayed_after(&mut self, path: Path) -> Result<u32, LabError> {
        let pair = self.connect(path)?;
        for at in [SiteKind::Home, SiteKind::Away] {
            self.turn_to(at);
            self.bench.replay()?;
        }
        self.count(&pair)
    }

    /// A copy of the client's flight reaches the home site before the original arrives at its destination.
    fn replayed_before(&mut self, path: Path) -> Result<u32, LabError> {
        self.reach_home()?;
        self.turn_to(SiteKind::Home);
        self.bench.expect_connection()?;
        let (copy_to, server) = (self.address(SiteKind::Home), self.address(path.at()));
        self.bench.client.tell(&ClientOrder::ConnectRaced { copy_to, server })?;
        self.bench.served()?;
        self.turn_to(path.at());
        let pair = self.while_home_is(path, |stage| {
            stage.bench.expect_connection()?;
            stage.bench.connected()
        })?;
        self.count(&pair)
    }

    /// Returns how often both sites together executed a request.
    fn count(&mut self, pair: &Pair) -> Result<u32, LabError> {
        let mut executions = 0;
        for at in [SiteKind::Home, SiteKind::Away] {
            self.turn_to(at);
            executions += self.bench.count(pair)?;
        }
        Ok(executions)
    }
}

/// A row is valid only if its connections were of the path that it names.
fn check_path(path: Path, Pair { client, server }: &Pair) -> Result<(), LabError> {
    let (seen, way) = (&client.observed, path.way());
    if path.at() == SiteKind::Home {
        check(way, seen, &server.observed)?;
    } else {
        let fallback = ObservedFacts {
            psk: Psk::Resumption,
            group: way.kx,
            post_quantum: seen.post_quantum,
            ..ObservedFacts::default()
        };
        both_saw(fallback, seen, &server.observed)?;
    }
    let told = client.told.map(|(_, told)| told);
    if told != path.told() {
        return Err(LabError::Connection(format!(
            "the client was to get the verdict {:?} on its early data, but got {told:?}",
            path.told()
        )));
    }
    Ok(())
}

fn sample(Pair { client, server }: &Pair) -> Sample {
    let since = |moment: Duration| us(moment.saturating_sub(client.started));
    Sample {
        tcp_us: since(client.tcp),
        first_byte_us: server.first_byte.map(since),
        verdict_us: client.told.map(|(at, _)| since(at)),
        handshake_us: since(client.handshake),
        response_us: client.response.map(since),
    }
}
