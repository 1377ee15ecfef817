//! Both ends of the image with a PSK over datagrams.
#![cfg(not(any(feature = "chains", feature = "kem-pinned")))]

use tessera::face::Arrival;
use tessera::handshake::Handshake;
use tessera::{Association, ClientAssociation, Error, ReadEvent, ServerAssociation};
use tessera_firmware_host::ends;

#[test]
fn both_ends_connect_over_datagrams() -> Result<(), Error> {
    let (client, server) = (ends::client().checked()?, ends::server()?.checked()?);
    let options = ends::datagrams;
    let arrival = Arrival::default();
    let mut server = ServerAssociation::start(server, arrival, options(), ends::NOW)?;
    let to = ends::destination();
    let mut client = ClientAssociation::start(client, to, options(), ends::NOW)?;
    while carry(&mut client, &mut server)? | carry(&mut server, &mut client)? {}
    assert!(client.facts().handshake_complete && server.facts().handshake_complete);
    let mut datagram = Vec::new();
    client.write(b"from the device", &mut datagram)?;
    match server.read(ends::NOW, &mut datagram)?.event {
        ReadEvent::Data(data) => assert_eq!(&datagram[data], b"from the device"),
        other => panic!("{other:?}"),
    }
    Ok(())
}

/// Delivers what one end sends; returns whether there was anything.
fn carry<H: Handshake, P: Handshake>(
    from: &mut Association<H>,
    to: &mut Association<P>,
) -> Result<bool, Error> {
    let (mut datagram, mut had_any) = (Vec::new(), false);
    while from.transmit(ends::NOW, &mut datagram) {
        had_any = true;
        let mut left = &mut datagram[..];
        loop {
            let progress = to.read(ends::NOW, left)?;
            left = &mut left[progress.consumed..];
            if matches!(progress.event, ReadEvent::NeedInput) {
                break;
            }
        }
        datagram.clear();
    }
    Ok(had_any)
}
