//! A device's energy, as a model.

use super::{WAYS, of_full, of_report};
use crate::bithac::CertificateWay;
use crate::numbers::fixed;
use crate::radio::{RECEIVED_BIT_NJ, SENT_BIT_NJ};
use crate::results::bithac::input::Inputs;
use crate::results::bithac::targets::{median, ratio};
use crate::table::{Table, cells};

/// The power of its processor, in milliwatts: 3.3 mA at 3 V and 64 MHz, from flash. The document of the radio has this under
/// "CPU running", which was not available; its "Compounded" has 8.6 mA if the processor runs and the radio receives
/// (IS1), and 6.26 mA if it sleeps (IRADIO_RX0), so 2.3 mA in addition to a running radio.
const PROCESSOR_MW: f64 = 3.3 * 3.0;
/// How many times slower it is than the machine of the measurement: an assumption.
const SLOWER: f64 = 1000.0;

/// A model of a device's energy.
pub(in crate::results::bithac) fn energy(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        format!(
            "A model, and no measurement: millijoules of a client for a connection over small packets (MTU 127, chains \
             of two). A device takes {SENT_BIT_NJ:.1} nJ for a bit that it sends and {RECEIVED_BIT_NJ:.1} nJ for one \
             that it receives: 6.40 mA and 6.53 mA at 3 V and 250 kbit/s (nRF52840 Product Specification, section \
             \"Radio transmitting/receiving\", IRADIO_TX5 at 0 dBm and IRADIO_RX2, IEEE 802.15.4 with DC/DC; no \
             preambles, no listening, no acknowledgements of the link). Its processor takes {PROCESSOR_MW:.1} mW for \
             {SLOWER:.0} times the time in calls of the engine here: 3.3 mA at 64 MHz, which was not checked against \
             that document's section \"CPU running\", and a factor that is assumed, and the largest unknown."
        ),
        "keys, way | radio, mJ | processor, mJ | together | of full",
    );
    for certificates in of_report(inputs) {
        let of = |way| {
            let sample = inputs.bytes(way, certificates, 127)?;
            let bits = |bytes: u64| bytes as f64 * 8.0;
            let radio =
                bits(sample.client.ip) * SENT_BIT_NJ + bits(sample.server.ip) * RECEIVED_BIT_NJ;
            let us = median(&inputs.work(way, certificates, 2)?.client_us)?;
            Some((radio / 1e6, us * SLOWER * PROCESSOR_MW / 1e6))
        };
        let sum = |(radio, processor): (f64, f64)| radio + processor;
        for way in WAYS {
            let Some((radio, processor)) = of(way) else { continue };
            let share = ratio(Some(radio + processor), of(CertificateWay::Full).map(sum));
            table.row(
                format!("{certificates}, {way}"),
                cells![
                    fixed(radio, 2),
                    fixed(processor, 2),
                    fixed(radio + processor, 2),
                    of_full(share),
                ],
            );
        }
    }
    table.unless_empty()
}
