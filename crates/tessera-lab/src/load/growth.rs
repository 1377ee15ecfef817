//! How a cost grows with the number of users.

/// The exponent of growth, and its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fit {
    pub(crate) exponent: f64,
    /// `None` with fewer than three points.
    pub(crate) interval: Option<(f64, f64)>,
}

/// Fits cost = c · usersᵏ by least squares of the logarithms; k = 1 is linear. `None` with fewer than two different
/// numbers of users. Points with zero users or cost are ignored: they have no logarithm.
pub(crate) fn fit(points: impl IntoIterator<Item = (f64, f64)>) -> Option<Fit> {
    let positive = points.into_iter().filter(|(users, cost)| *users > 0.0 && *cost > 0.0);
    let logarithms: Vec<_> = positive.map(|(users, cost)| (users.ln(), cost.ln())).collect();
    let count = logarithms.len() as f64;
    let mean = |value: fn(&(f64, f64)) -> f64| logarithms.iter().map(value).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|(x, _)| *x), mean(|(_, y)| *y));
    let spread: f64 = logarithms.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    // NaN without any points.
    if spread.is_nan() || spread <= 0.0 {
        return None;
    }
    let together: f64 = logarithms.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let exponent = together / spread;
    let residual = |(x, y): &(f64, f64)| (y - mean_y - exponent * (x - mean_x)).powi(2);
    let residuals: f64 = logarithms.iter().map(residual).sum();
    let interval = student(logarithms.len().saturating_sub(2)).map(|student| {
        let error = student * (residuals / (count - 2.0) / spread).sqrt();
        (exponent - error, exponent + error)
    });
    Some(Fit { exponent, interval })
}

/// Returns the 97.5 % quantile of Student's distribution with these degrees of freedom, or of the next smaller listed
/// ones.
fn student(degrees: usize) -> Option<f64> {
    const POINTS: [f64; 10] =
        [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    degrees.checked_sub(1).map(|index| POINTS[index.min(POINTS.len() - 1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: [f64; 7] = [1.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1_000.0];

    #[test]
    fn the_exponent_of_a_power_is_found() {
        for exponent in [0.9, 1.0, 1.05, 2.0] {
            let fit = fit(USERS.map(|users| (users, 7.0 * users.powf(exponent)))).unwrap();
            assert!((fit.exponent - exponent).abs() < 1e-12);
            let (low, high) = fit.interval.unwrap();
            assert!(high - low < 1e-6, "{low} {high}");
        }
    }

    /// Against a fit done by hand: the points (0, 0), (1, 1), (2, 1) in logarithms.
    #[test]
    fn the_interval_of_an_exponent_is_that_of_the_textbook() {
        let e = std::f64::consts::E;
        let fit = fit([(1.0, 1.0), (e, e), (e * e, e)]).unwrap();
        assert!((fit.exponent - 0.5).abs() < 1e-12);
        let (low, high) = fit.interval.unwrap();
        // The residuals are 1/6, so the standard error is √(1/6 / 1 / 2).
        let error = 12.706 * (1.0_f64 / 12.0).sqrt();
        assert!((low - (0.5 - error)).abs() < 1e-9 && (high - (0.5 + error)).abs() < 1e-9);
    }

    #[test]
    fn too_few_points_have_no_exponent() {
        assert_eq!(fit([]), None);
        assert_eq!(fit([(5.0, 2.0)]), None);
        assert_eq!(fit([(5.0, 2.0), (5.0, 3.0)]), None);
        assert_eq!(fit([(5.0, 2.0), (0.0, 3.0), (6.0, 0.0)]), None);
        assert_eq!(fit([(1.0, 2.0), (10.0, 20.0)]).unwrap().interval, None);
    }
}
