import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.eclipse.californium.elements.AddressEndpointContext;
import org.eclipse.californium.elements.EndpointContext;
import org.eclipse.californium.elements.MessageCallback;
import org.eclipse.californium.elements.RawData;
import org.eclipse.californium.scandium.DTLSConnector;
import org.eclipse.californium.scandium.config.DtlsConnectorConfig;

/** The client: one association, which goes on from every address. One thread does everything, in turn. */
final class Client {
    static final class Options {
        InetSocketAddress server;
        String ca, detection;
        List<InetAddress> sources;
        long acks, paceMs, timeoutMs, timeouts;
        /** The server does, and the association is lost. */
        boolean restarts;
    }

    private static final long MILLISECOND = 1_000_000;
    /** Nothing that the lab does lasts longer. */
    private static final long PATIENCE = 60_000 * MILLISECOND;
    /** A timer may be this late without moving the messages after it. */
    private static final long LATE = 20 * MILLISECOND;
    private static final long LEAST_RTT_TIMEOUT = 20 * MILLISECOND;
    private static final int MESSAGE_LENGTH = 64, ACK_LENGTH = 4;

    private interface Task {
        void run() throws Exception;
    }

    private final Options options;
    private final Interfaces interfaces;
    private final LinkedBlockingQueue<Task> tasks = new LinkedBlockingQueue<>();
    private DTLSConnector connector;
    /** Which handshake is under way: what earlier ones report is of no interest. */
    private int attempt;
    private boolean isOpen, wasOpen, isSent, isRepeated, isEnding;
    private int message, timeoutsInRow;
    private long sentAt, nextAt, progressAt = Report.now(), smoothedRtt;

    Client(Options options) {
        this.options = options;
        interfaces = new Interfaces(options.sources);
    }

    void run() {
        try {
            Thread input = new Thread(this::readInput);
            input.setDaemon(true);
            input.start();
            beginHandshake();
            while (message < options.acks && !isEnding) step();
            connector.close(options.server);
            // The alert leaves from a thread of Scandium's.
            Thread.sleep(50);
            Report.event("end", ",\"cpu_us\":" + Report.cpuMicroseconds()
                + ",\"datagrams_sent\":" + RoamingSocket.DATAGRAMS_SENT + ",\"datagrams_received\":"
                + RoamingSocket.DATAGRAMS_RECEIVED + ",\"bytes_sent\":" + RoamingSocket.BYTES_SENT
                + ",\"bytes_received\":" + RoamingSocket.BYTES_RECEIVED);
            Runtime.getRuntime().halt(0);
        } catch (Exception failure) {
            Report.fail(failure);
        }
    }

    private void step() throws Exception {
        long due = progressAt + PATIENCE;
        if (isOpen) due = Math.min(due, isSent ? sentAt + timeout() : nextAt);
        Task task = tasks.poll(due - Report.now(), TimeUnit.NANOSECONDS);
        if (task != null) {
            task.run();
            return;
        }
        if (Report.now() >= progressAt + PATIENCE)
            throw new Stuck(wasOpen ? "no progress for 60 s" : "no handshake within a minute");
        if (!isOpen || Report.now() < due) return;
        if (isSent) {
            Report.event("timeout", "");
            if (options.restarts && ++timeoutsInRow >= options.timeouts) {
                isOpen = false;
                beginHandshake();
                return;
            }
        }
        sendMessage();
    }

    /** Scandium begins a handshake for a message; message 0 follows it. */
    private void beginHandshake() throws Exception {
        int current = ++attempt;
        if (connector != null) connector.destroy();
        DtlsConnectorConfig config = Configs.client(options.ca).setAddress(new InetSocketAddress(interfaces.route(), 0)).build();
        connector = new RoamingConnector(config, new RoamingSocket(interfaces, () -> tasks.add(() -> {
            if (!isOpen && current == attempt) beginHandshake();
        })));
        connector.setRawDataReceiver(data -> {
            if (data.getSize() == ACK_LENGTH) tasks.add(() -> readAck(ByteBuffer.wrap(data.getBytes()).getInt()));
        });
        connector.start();
        Report.event("handshake_begin", "");
        send(new MessageCallback() {
            @Override
            public void onConnecting() {}

            @Override
            public void onDtlsRetransmission(int flight) {}

            @Override
            public void onContextEstablished(EndpointContext context) {
                tasks.add(() -> {
                    if (isOpen || current != attempt) return;
                    isOpen = wasOpen = true;
                    timeoutsInRow = 0;
                    progressAt = Report.now();
                    Report.event("handshake_end", ",\"kind\":\"full\"");
                    noteSent();
                });
            }

            @Override
            public void onSent() {}

            @Override
            public void onError(Throwable error) {
                tasks.add(() -> {
                    if (!isOpen && current == attempt) throw new IOException("the handshake", error);
                });
            }
        });
    }

    private void sendMessage() {
        noteSent();
        send(null);
    }

    private void noteSent() {
        sentAt = Report.now();
        if (isSent) isRepeated = true;
        else nextAt = (sentAt - nextAt <= LATE ? nextAt : sentAt) + options.paceMs * MILLISECOND;
        isSent = true;
        Report.event("sent", ",\"message\":" + message);
    }

    private void send(MessageCallback callback) {
        byte[] content = ByteBuffer.allocate(MESSAGE_LENGTH).putInt(message).array();
        connector.send(RawData.outbound(content, new AddressEndpointContext(options.server), callback, false));
    }

    private void readAck(int number) {
        if (!isSent || number != message) return;
        Report.event("ack", ",\"message\":" + number);
        progressAt = Report.now();
        // Karn: which of several messages was acknowledged isn't known. The weight is RFC 6298's.
        long rtt = progressAt - sentAt;
        if (!isRepeated) smoothedRtt = smoothedRtt == 0 ? rtt : (7 * smoothedRtt + rtt) / 8;
        message++;
        timeoutsInRow = 0;
        isSent = false;
        isRepeated = false;
    }

    private void readInput() {
        try {
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String change = line;
                tasks.add(() -> {
                    boolean isWayNew = interfaces.change(change);
                    if (!isWayNew || !options.detection.equals("event")) return;
                    if (!isOpen) beginHandshake();
                    else if (isSent) sendMessage();
                });
            }
        } catch (IOException closed) {
            // As below.
        }
        tasks.add(() -> isEnding = true);
    }

    /** How long an ack may take. */
    private long timeout() {
        if (!options.detection.equals("rtt3") || smoothedRtt == 0) return options.timeoutMs * MILLISECOND;
        return Math.max(3 * smoothedRtt, LEAST_RTT_TIMEOUT);
    }

    /** A client that doesn't go on; its reason is reported as it is. */
    private static final class Stuck extends IOException {
        Stuck(String why) {
            super(why);
        }

        @Override
        public String toString() {
            return getMessage();
        }
    }

    private static final class RoamingConnector extends DTLSConnector {
        private final RoamingSocket socket;

        RoamingConnector(DtlsConnectorConfig config, RoamingSocket socket) {
            super(config);
            this.socket = socket;
        }

        @Override
        protected void start(InetSocketAddress address) throws IOException {
            init(address, socket, null);
        }
    }
}
