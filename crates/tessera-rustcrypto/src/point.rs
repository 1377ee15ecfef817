//! Points of P-256.

use p256::AffinePoint;
use p256::elliptic_curve::point::AffineCoordinates;

/// Reads an uncompressed point (SEC 1 §2.3.3), and checks that it is on the curve. Other forms are refused: RFC 8446
/// §4.2.8.2 rules them out in key shares, and RFC 5480 §2.2 leaves them open in certificates; to read them would take 5 KB of
/// flash.
pub(crate) fn read(bytes: &[u8]) -> Option<AffinePoint> {
    let [4, coordinates @ ..] = bytes else { return None };
    let ([x, y], []) = coordinates.as_chunks::<32>() else { return None };
    AffinePoint::from_coordinates(&(*x).into(), &(*y).into()).into_option()
}
