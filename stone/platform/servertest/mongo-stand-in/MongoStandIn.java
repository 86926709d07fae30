import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.util.List;

/**
 * Serves MongoDB's wire protocol from memory on loopback, at the port given; it ends when killed.
 * It calls itself MongoDB 4.4, the oldest that the current Go driver talks to.
 */
public class MongoStandIn {
    public static void main(String[] arguments) {
        var version = new MongoVersion() {
            @Override
            public List<Integer> getVersionArray() {
                return List.of(4, 4, 0);
            }

            @Override
            public int getWireVersion() {
                return 9;
            }
        };
        new MongoServer(new MemoryBackend().version(version)).bind("127.0.0.1", Integer.parseInt(arguments[0]));
    }
}
