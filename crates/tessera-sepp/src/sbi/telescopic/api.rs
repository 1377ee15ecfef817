//! `nsepp-telescopic`: maps foreign names to telescopic ones for local network functions (TS 29.573, Nsepp_Telescopic).

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use serde::Serialize;
use tessera_proxy::http::body::Body;

use super::TelescopicDomain;
use crate::sbi::errors::Problem;

/// Its path.
pub const MAPPING: &str = "/nsepp-telescopic/v1/mapping";

/// TelescopicMapping.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Mapping<'m> {
    telescopic_label: &'m str,
    sepp_domain: &'m str,
    foreign_fqdn: &'m str,
}

/// Answers `GET /nsepp-telescopic/v1/mapping`.
pub fn answer(
    domain: Option<&TelescopicDomain>,
    parts: &Parts,
    server: &HeaderValue,
) -> Response<Body> {
    if parts.method != Method::GET {
        let problem = Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "METHOD_NOT_ALLOWED",
            "only GET reads a mapping",
        );
        let mut response = problem.to_own(server);
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
        return response;
    }
    match mapping(domain, parts.uri.query().unwrap_or_default()) {
        Err(problem) => problem.to_own(server),
        Ok(json) => {
            let mut response = Response::new(Body::full(json));
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, json);
            response
        }
    }
}

fn mapping(domain: Option<&TelescopicDomain>, query: &str) -> Result<Bytes, Problem> {
    const NONE: Problem = Problem::new(
        StatusCode::NOT_FOUND,
        "MAPPING_NOT_FOUND",
        "this SEPP has no telescopic name for it: that takes [sbi] telescopic-domain and a name of a 5G core",
    );
    const WRONG: Problem = Problem::new(
        StatusCode::BAD_REQUEST,
        "INVALID_QUERY_PARAM",
        "exactly one of foreign-fqdn and telescopic-label is required",
    );
    let domain = domain.ok_or(NONE)?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (name, value) = pairs.next().ok_or(WRONG)?;
    if pairs.next().is_some() {
        return Err(WRONG);
    }
    let (label, foreign) = match name {
        "foreign-fqdn" => {
            let name = domain.name(value).ok_or(NONE)?;
            let label = name.split('.').next().unwrap_or_default().to_owned();
            (label, value.to_owned())
        }
        "telescopic-label" => {
            let foreign = domain.original(&format!("{value}.{}", domain.domain())).ok_or(NONE)?;
            (value.to_owned(), foreign.host)
        }
        _ => return Err(WRONG),
    };
    let mapping = Mapping {
        telescopic_label: &label,
        sepp_domain: domain.domain().as_str(),
        foreign_fqdn: &foreign,
    };
    serde_json::to_vec(&mapping).map(Bytes::from).map_err(|_| NONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sbi::api_root::Scheme;
    use http::Request;

    async fn asked(method: Method, query: &str) -> (u16, String) {
        let domain = "sepp.5gc.mnc070.mcc999.3gppnetwork.org".parse().unwrap();
        let domain = TelescopicDomain::new(domain, Scheme::Http, 80);
        let request = Request::builder().method(method).uri(format!("{MAPPING}{query}"));
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let response = answer(Some(&domain), &parts, &HeaderValue::from_static("SEPP-a.b"));
        let status = response.status().as_u16();
        let body = response.into_body().collect_up_to(1000).await.unwrap().data;
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_mapping_is_read_both_ways() {
        let expected = r#"{"telescopicLabel":"nrf-n001001","seppDomain":"sepp.5gc.mnc070.mcc999.3gppnetwork.org","foreignFqdn":"nrf.5gc.mnc001.mcc001.3gppnetwork.org"}"#;
        for query in
            ["?foreign-fqdn=nrf.5gc.mnc001.mcc001.3gppnetwork.org", "?telescopic-label=nrf-n001001"]
        {
            assert_eq!(asked(Method::GET, query).await, (200, expected.to_owned()), "{query}");
        }
    }

    #[tokio::test]
    async fn anything_else_is_a_problem() {
        for (query, status) in [
            ("", 400),
            ("?a=b", 400),
            ("?foreign-fqdn=a.5gc.mnc001.mcc001.3gppnetwork.org&telescopic-label=b", 400),
            ("?foreign-fqdn=nrf.example.org", 404),
            ("?telescopic-label=nrf", 404),
        ] {
            let (found, text) = asked(Method::GET, query).await;
            assert_eq!(found, status, "{query} {text}");
        }
        assert_eq!(asked(Method::POST, "").await.0, 405);
    }
}
