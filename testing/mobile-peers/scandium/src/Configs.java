import java.io.FileInputStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.concurrent.TimeUnit;
import org.eclipse.californium.elements.config.CertificateAuthenticationMode;
import org.eclipse.californium.elements.config.Configuration;
import org.eclipse.californium.scandium.config.DtlsConfig;
import org.eclipse.californium.scandium.config.DtlsConfig.DtlsRole;
import org.eclipse.californium.scandium.config.DtlsConnectorConfig;
import org.eclipse.californium.scandium.dtls.CertificateType;
import org.eclipse.californium.scandium.dtls.x509.SingleCertificateProvider;
import org.eclipse.californium.scandium.dtls.x509.StaticNewAdvancedCertificateVerifier;

/** What both roles set, and their certificates. */
final class Configs {
    /** With its headers of IPv4 and UDP, a datagram of 1,200 bytes, less than any path of the lab carries. */
    private static final int MTU = 1228;
    private static final int CID_LENGTH = 8;

    static {
        DtlsConfig.register();
    }

    /** For a server, whose connection IDs clients send. */
    static DtlsConnectorConfig.Builder server(String certificate, String key) throws Exception {
        DtlsConnectorConfig.Builder config = both(CID_LENGTH).set(DtlsConfig.DTLS_ROLE, DtlsRole.SERVER_ONLY)
            .set(DtlsConfig.DTLS_CLIENT_AUTHENTICATION_MODE, CertificateAuthenticationMode.NONE);
        return config.setCertificateIdentityProvider(
            new SingleCertificateProvider(privateKey(key), certificates(certificate), CertificateType.X_509));
    }

    /** For a client, which needs no connection ID. The options don't give the server's name: none is verified. */
    static DtlsConnectorConfig.Builder client(String ca) throws Exception {
        return both(0).set(DtlsConfig.DTLS_ROLE, DtlsRole.CLIENT_ONLY)
            .set(DtlsConfig.DTLS_VERIFY_SERVER_CERTIFICATES_SUBJECT, false)
            .setAdvancedCertificateVerifier(
                StaticNewAdvancedCertificateVerifier.builder().setTrustedCertificates(certificates(ca)).build());
    }

    private static DtlsConnectorConfig.Builder both(int cidLength) {
        return DtlsConnectorConfig.builder(new Configuration())
            .set(DtlsConfig.DTLS_CONNECTION_ID_LENGTH, cidLength)
            .set(DtlsConfig.DTLS_MAX_TRANSMISSION_UNIT, MTU)
            .set(DtlsConfig.DTLS_RECEIVER_THREAD_COUNT, 1)
            .set(DtlsConfig.DTLS_CONNECTOR_THREAD_COUNT, 1)
            // RFC 6347 §4.2.4.1, as the other peers; Scandium's default is two seconds.
            .set(DtlsConfig.DTLS_RETRANSMISSION_TIMEOUT, 1, TimeUnit.SECONDS);
    }

    private static X509Certificate[] certificates(String file) throws Exception {
        try (FileInputStream input = new FileInputStream(file)) {
            Collection<? extends Certificate> all = CertificateFactory.getInstance("X.509").generateCertificates(input);
            return all.toArray(new X509Certificate[0]);
        }
    }

    private static PrivateKey privateKey(String file) throws Exception {
        String pem = new String(Files.readAllBytes(Paths.get(file)));
        String base64 = pem.replaceAll("-----[^-]+-----|\\s", "");
        return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(base64)));
    }
}
