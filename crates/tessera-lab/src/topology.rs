//! The places between which roaming is measured.

use std::time::Duration;

use tessera_link::{LinkError, LinkKind, LinkParameters, Mesh};

/// What joins two places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Both places, as cells of a grid name it.
    pub name: &'static str,
    /// One of [`PLACES`].
    pub from: &'static str,
    /// Another.
    pub to: &'static str,
    /// The round-trip time between the two, in milliseconds.
    pub rtt_ms: u64,
}

impl Stretch {
    /// The round-trip time between the two.
    #[must_use]
    pub const fn rtt(&self) -> Duration {
        Duration::from_millis(self.rtt_ms)
    }
}

/// The nodes of the roaming paper's mesh (Lastre et al., Sensors 2025, 25, 6144, section 5.3 and Fig. 11).
pub const PLACES: [&str; 3] = ["seoul", "tokyo", "los-angeles"];

/// Its links. The paper gives 33 ms and, for Los Angeles, 134 ms; the one between Tokyo and Los Angeles is our
/// choice: a path from Seoul by way of Tokyo is then a little longer than the direct one.
pub const ROAMING: [Stretch; 3] = [
    Stretch { name: "seoul-tokyo", from: "seoul", to: "tokyo", rtt_ms: 33 },
    Stretch { name: "tokyo-los-angeles", from: "tokyo", to: "los-angeles", rtt_ms: 105 },
    Stretch { name: "seoul-los-angeles", from: "seoul", to: "los-angeles", rtt_ms: 134 },
];

/// All three places at once. Everything but the round-trip times is the same on each link, and each link has
/// random numbers of its own: their seeds are that of `parameters`, and those that follow.
///
/// # Errors
///
/// As for [`Mesh::open`].
pub fn roaming(kind: LinkKind, parameters: &LinkParameters) -> Result<Mesh, LinkError> {
    let mut seed = parameters.seed;
    let links = ROAMING.map(|stretch| {
        let link = LinkParameters { rtt: stretch.rtt(), seed, ..parameters.clone() };
        seed = seed.wrapping_add(1);
        (stretch.from, stretch.to, link)
    });
    Mesh::open(kind, &PLACES, &links)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_named_by_their_places_and_join_each_pair_once() {
        for stretch in &ROAMING {
            assert_eq!(stretch.name, format!("{}-{}", stretch.from, stretch.to));
            assert!(PLACES.contains(&stretch.from) && PLACES.contains(&stretch.to));
        }
        // The mesh itself refuses a pair that is joined twice.
        let plain = LinkParameters::default();
        let links = ROAMING.map(|stretch| (stretch.from, stretch.to, plain.clone()));
        let mesh = Mesh::open(LinkKind::Loopback, &PLACES, &links).unwrap();
        assert_eq!(mesh.links().count(), 3);
    }

    /// Where the machine has links; loopback ones have no distance.
    #[test]
    fn each_stretch_of_the_mesh_has_its_round_trip_time_and_random_numbers_of_its_own() {
        let parameters = LinkParameters { loss: 0.01, seed: 7, ..LinkParameters::default() };
        match roaming(LinkKind::Auto, &parameters) {
            Ok(mesh) => {
                for (seed, stretch) in (7..).zip(&ROAMING) {
                    let link = mesh.link(stretch.from, stretch.to).unwrap().parameters();
                    assert_eq!((link.rtt, link.loss, link.seed), (stretch.rtt(), 0.01, seed));
                }
            }
            Err(LinkError::NoEmulation { reason }) => assert!(reason.is_some()),
            Err(error) => panic!("{error}"),
        }
    }
}
