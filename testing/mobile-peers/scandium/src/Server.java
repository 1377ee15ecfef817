import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import org.eclipse.californium.elements.RawData;
import org.eclipse.californium.scandium.DTLSConnector;
import sun.misc.Signal;

/** The server: one socket for all associations; the connection ID finds each. */
final class Server {
    private static final int ACK_LENGTH = 4;

    static void run(InetSocketAddress address, String certificate, String key) {
        try {
            CountDownLatch end = new CountDownLatch(1);
            Signal.handle(new Signal("TERM"), signal -> end.countDown());
            DTLSConnector connector = new DTLSConnector(Configs.server(certificate, key).setAddress(address).build());
            connector.setRawDataReceiver(message -> {
                if (message.getSize() < ACK_LENGTH) return;
                byte[] ack = Arrays.copyOf(message.getBytes(), ACK_LENGTH);
                connector.send(RawData.outbound(ack, message.getEndpointContext(), null, false));
            });
            connector.start();
            InetSocketAddress bound = connector.getAddress();
            Report.line("{\"event\":\"listening\",\"address\":\"" + bound.getAddress().getHostAddress() + ":"
                + bound.getPort() + "\"}");
            Thread input = new Thread(() -> {
                try {
                    while (System.in.read() >= 0) {}
                } catch (java.io.IOException error) {
                    // It is closed.
                }
                end.countDown();
            });
            input.setDaemon(true);
            input.start();
            end.await();
            Report.line("{\"event\":\"end\",\"cpu_us\":" + Report.cpuMicroseconds()
                + ",\"sockets_most\":1,\"ports_most\":1}");
            Runtime.getRuntime().halt(0);
        } catch (Exception failure) {
            Report.fail(failure);
        }
    }
}
