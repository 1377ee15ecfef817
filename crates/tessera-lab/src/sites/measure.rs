//! Measuring one row of the experiment `sites`.

use std::time::Duration;

use tessera_link::LinkParameters;

use super::path::{PATIENCE_IN_RTTS, Path};
use super::report::{Row, Sample};
use crate::bench::{Bench, Pair, WARM_UP, both_saw, check, us};
use crate::control::{ClientOrder, Observed, Psk, Server, Sites};
use crate::error::LabError;

impl Bench {
    /// Measures a path over a link of these parameters, with this round-trip time between the sites.
    pub(crate) fn site_row(
        &mut self,
        path: Path,
        parameters: &LinkParameters,
        site_rtt: Duration,
        repetitions: usize,
        done: impl Fn(),
    ) -> Result<Row, LabError> {
        let patience = (site_rtt * PATIENCE_IN_RTTS).max(Duration::from_millis(1));
        let acknowledges = path.acknowledges();
        self.sites = Some(Sites { rtt: site_rtt, patience, acknowledges });

        // What is not measured goes over a link that costs no time.
        self.set_link(&LinkParameters::default())?;
        self.prepare(path.way(), 2, true)?;
        let executions = self.replayed_after(path)?.max(self.replayed_before(path)?);
        self.prepare(path.way(), repetitions + WARM_UP, false)?;
        self.become_server(path.server())?;

        self.set_link(parameters)?;
        let mut samples = Vec::with_capacity(repetitions);
        for repetition in 0..WARM_UP + repetitions {
            let pair = self.connect(&ClientOrder::Connect(self.address))?;
            check_path(path, &pair)?;
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
            patience_ms: patience.as_secs_f64() * 1e3,
            samples,
            replay_executions: executions,
        })
    }

    /// The client connects and, where it is told to, sends again; then its recorded flight is sent to
    /// both sites, home first.
    fn replayed_after(&mut self, path: Path) -> Result<u32, LabError> {
        self.become_server(path.server())?;
        let pair = self.connect(&ClientOrder::Connect(self.address))?;
        check_path(path, &pair)?;
        for server in [Server::First, Server::OtherSite] {
            self.become_server(server)?;
            self.replay()?;
        }
        self.count(&pair)
    }

    /// A copy of the client's flight comes home before its own arrives where it goes to.
    fn replayed_before(&mut self, path: Path) -> Result<u32, LabError> {
        self.become_server(Server::First)?;
        self.expect_connection()?;
        self.client.tell(&ClientOrder::ConnectRaced(self.address))?;
        self.served()?;
        self.become_server(path.server())?;
        self.expect_connection()?;
        let pair = self.connected()?;
        self.count(&pair)
    }
}

/// A row is worth something only if its connections were what it says.
fn check_path(path: Path, Pair { client, server }: &Pair) -> Result<(), LabError> {
    let (seen, way) = (&client.observed, path.way());
    if path.server() == Server::First {
        check(way, seen, &server.observed)?;
    } else {
        let fallback = Observed {
            psk: Psk::Resumption,
            group: way.kx,
            post_quantum: seen.post_quantum,
            ..Observed::default()
        };
        both_saw(fallback, seen, &server.observed)?;
    }
    let told = client.told.map(|(_, told)| told);
    if told != path.told() {
        return Err(LabError::Connection(format!(
            "of its early data the client was to hear {:?}, and heard {told:?}",
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
