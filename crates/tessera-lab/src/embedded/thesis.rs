//! What the thesis measured (G. Xu, "Optimizing post-quantum TLS on embedded clients", MASc thesis, Waterloo, 2025; the tables of
//! its draft of 10 July 2025), on a Raspberry Pi Pico 2 W over Wi-Fi.

use super::suites::{BASELINE, SuiteName, with_chain};

/// A handshake: medians in milliseconds, until the client may send application data, and until the server is
/// authenticated explicitly.
pub(crate) struct Handshake {
    pub(crate) suite: SuiteName<'static>,
    pub(crate) ms: [f64; 2],
}

const fn handshake(suite: SuiteName<'static>, first_data: f64, explicit: f64) -> Handshake {
    Handshake { suite, ms: [first_data, explicit] }
}

/// The fastest suite, and the one of the headline.
pub(crate) const BEST: SuiteName<'_> =
    with_chain("one-time ML-KEM-512", "Falcon-512", "ML-KEM-512");
/// The same with ML-KEM as it is.
pub(crate) const BEST_CCA: SuiteName<'_> = with_chain("ML-KEM-512", "Falcon-512", "ML-KEM-512");

/// All of its suites that we know both numbers of.
pub(crate) const HANDSHAKES: [Handshake; 16] = [
    handshake(BEST, 84.17, 135.43),
    handshake(BEST_CCA, 89.42, 140.09),
    handshake(with_chain("ML-KEM-512", "Falcon-512", "Falcon-512"), 102.44, 102.44),
    handshake(BASELINE, 128.40, 128.40),
    handshake(with_chain("ML-KEM-512", "Falcon-512", "ML-DSA-44"), 128.62, 128.62),
    handshake(with_chain("ML-KEM-768", "Falcon-1024", "ML-KEM-768"), 133.16, 184.63),
    handshake(with_chain("ML-KEM-512", "ML-DSA-44", "ML-KEM-512"), 140.61, 192.33),
    handshake(with_chain("one-time ML-KEM-512", "ML-DSA-44", "ML-DSA-44"), 161.10, 161.10),
    handshake(with_chain("ML-KEM-512", "ML-DSA-44", "ML-DSA-44"), 171.16, 171.16),
    handshake(with_chain("one-time ML-KEM-768", "ML-DSA-65", "ML-DSA-65"), 235.82, 235.82),
    handshake(with_chain("ML-KEM-768", "ML-DSA-65", "ML-DSA-65"), 242.66, 242.66),
    handshake(with_chain("one-time ML-KEM-1024", "ML-DSA-87", "ML-DSA-87"), 347.02, 347.02),
    handshake(with_chain("ML-KEM-1024", "ML-DSA-87", "ML-DSA-87"), 364.68, 364.68),
    handshake(with_chain("P-256", "RSA-2048", "RSA-2048"), 484.22, 484.22),
    handshake(with_chain("P-256", "P-256", "P-256"), 785.78, 785.78),
    handshake(with_chain("HQC-128", "SPHINCS+-128s", "HQC-128"), 2928.46, 2986.82),
];

/// The suite with algorithms that we leave out.
pub(crate) fn is_left_out(suite: SuiteName<'_>) -> bool {
    suite.key_exchange == "HQC-128"
}

/// Returns what it took of [`BASELINE`], by both metrics.
pub(crate) fn ratios(handshake: &Handshake) -> [f64; 2] {
    handshake.ms.map(|ms| ms / baseline())
}

fn baseline() -> f64 {
    HANDSHAKES.iter().find(|it| it.suite == BASELINE).map_or(f64::NAN, |it| it.ms[0])
}

/// What a one-time KEM changes of the whole key exchange, with its round trip, next to the same suite with ML-KEM.
pub(crate) const KEY_EXCHANGES: &str = "time: -22.7 % (one-time ML-KEM-512 / Falcon-512 / ML-KEM-512), -6.3 % (one-time \
    ML-KEM-512 / ML-DSA-44), -20.7 % (one-time ML-KEM-768 / ML-DSA-65), -29.3 % (one-time ML-KEM-1024 / ML-DSA-87)";

/// What a construction changes of ML-KEM, as a share of it, at 512, 768 and 1024.
pub(crate) struct Changes {
    pub(crate) construction: &'static str,
    pub(crate) operation: &'static str,
    pub(crate) by_set: [f64; 3],
    pub(crate) of: &'static str,
}

/// The parameter sets.
pub(crate) const SETS: [&str; 3] = ["ML-KEM-512", "ML-KEM-768", "ML-KEM-1024"];

/// All of them.
pub(crate) const CHANGES: [Changes; 4] = [
    Changes {
        construction: "T_H",
        operation: "decapsulate",
        by_set: [-0.639, -0.682, -0.716],
        of: "cycles, Cortex-M33",
    },
    Changes {
        construction: "T_H",
        operation: "encapsulate",
        by_set: [0.128, 0.111, 0.106],
        of: "cycles, Cortex-M33",
    },
    Changes {
        construction: "encrypt-then-MAC",
        operation: "decapsulate",
        by_set: [-0.722, -0.768, -0.791],
        of: "cycles, x86, Poly1305",
    },
    Changes {
        construction: "encrypt-then-MAC",
        operation: "encapsulate",
        by_set: [0.018, 0.073, 0.033],
        of: "cycles, x86, Poly1305",
    },
];

/// Returns the change of an operation, with what it is of.
pub(crate) fn change(
    construction: &str,
    operation: &str,
    set: &str,
) -> Option<(f64, &'static str)> {
    let found =
        CHANGES.iter().find(|it| (it.construction, it.operation) == (construction, operation))?;
    let place = SETS.iter().position(|it| *it == set)?;
    Some((found.by_set[place], found.of))
}

#[cfg(test)]
mod tests {
    use super::super::kem_tables::percent;
    use super::*;

    /// Its medians in milliseconds, with a one-time KEM and with ML-KEM.
    #[test]
    fn the_changes_of_the_key_exchange_are_those_of_the_medians() {
        let medians = [(18.14, 23.46), (20.84, 22.24), (26.19, 33.01), (36.10, 51.04)];
        let changes = medians.map(|(one_time, full)| percent(one_time / full - 1.0));
        let named = KEY_EXCHANGES.split([':', ',']).skip(1);
        assert_eq!(named.clone().count(), changes.len());
        for (named, change) in named.zip(changes) {
            assert!(named.trim_start().starts_with(&change), "{named}, not {change}");
        }
    }

    /// The copied numbers have the headline's relation, and change by what the medians of cycles changed.
    #[test]
    fn the_copied_numbers_agree_with_each_other() {
        let [first, explicit] = ratios(&HANDSHAKES[0]);
        assert!((first - (1.0 - 0.344)).abs() < 5e-4, "{first}");
        assert!((explicit - 1.055).abs() < 5e-4, "{explicit}");
        for (construction, medians) in [
            (
                "decapsulate",
                [(441_653.0, 1_223_890.0), (618_500.0, 1_941_932.0), (825_535.0, 2_909_622.0)],
            ),
            (
                "encapsulate",
                [
                    (1_178_461.0, 1_044_317.0),
                    (1_874_080.0, 1_687_119.0),
                    (2_868_058.0, 2_592_201.0),
                ],
            ),
        ] {
            for (set, (one_time, full)) in SETS.into_iter().zip(medians) {
                let (share, _) = change("T_H", construction, set).unwrap();
                assert!((one_time / full - 1.0 - share).abs() < 1e-3, "{set}, {construction}");
            }
        }
        assert!(HANDSHAKES.iter().all(|it| it.ms[0] <= it.ms[1]));
    }
}
