// The declarations of AFNetworking 4 and of Foundation that the guide "Coming from AFNetworking" shows, for `.ci/steps/objc`.
typedef signed char BOOL;
typedef long NSInteger;
#define nil 0
@class NSProgress, NSURLSession, NSURLSessionTask, NSURLSessionDataTask, NSURLSessionDownloadTask, NSURLRequest, NSURLResponse;
@class NSURL, NSError, NSURLAuthenticationChallenge;
typedef enum : NSInteger { NSURLSessionAuthChallengeUseCredential } NSURLSessionAuthChallengeDisposition;
typedef enum : NSInteger { NSURLCredentialPersistenceNone, NSURLCredentialPersistenceForSession } NSURLCredentialPersistence;

__attribute__((objc_root_class)) @interface NSObject
@end
@interface NSString : NSObject
@end
@interface NSConstantString : NSString
@end
@interface NSArray<Element> : NSObject
@end
@interface NSSet<Element> : NSObject
@end
@protocol NSCopying
@end
@interface NSDictionary<Key, Value> : NSObject
+ (instancetype)dictionaryWithObjects:(const id [])objects forKeys:(const id<NSCopying> [])keys count:(unsigned long)count;
@end
@interface NSString () <NSCopying>
@end
@interface NSURLCredential : NSObject
+ (NSURLCredential *)credentialWithIdentity:(void *)identity
                               certificates:(NSArray *)certificates
                                persistence:(NSURLCredentialPersistence)persistence;
@end

@protocol AFMultipartFormData
- (BOOL)appendPartWithFileURL:(NSURL *)file name:(NSString *)name error:(NSError **)error;
@end
@interface AFHTTPRequestSerializer : NSObject
@end
@interface AFJSONRequestSerializer : AFHTTPRequestSerializer
+ (instancetype)serializer;
@end
@interface AFURLSessionManager : NSObject
- (NSURLSessionDownloadTask *)downloadTaskWithRequest:(NSURLRequest *)request
                                             progress:(void (^)(NSProgress *))progress
                                          destination:(NSURL * (^)(NSURL *, NSURLResponse *))destination
                                    completionHandler:(void (^)(NSURLResponse *, NSURL *, NSError *))completion;
- (void)setAuthenticationChallengeHandler:
    (id (^)(NSURLSession *, NSURLSessionTask *, NSURLAuthenticationChallenge *,
            void (^)(NSURLSessionAuthChallengeDisposition, NSURLCredential *)))handler;
@end
@interface AFHTTPSessionManager : AFURLSessionManager
@property(nonatomic, strong) AFHTTPRequestSerializer *requestSerializer;
- (NSURLSessionDataTask *)GET:(NSString *)url
                   parameters:(id)parameters
                      headers:(NSDictionary<NSString *, NSString *> *)headers
                     progress:(void (^)(NSProgress *))progress
                      success:(void (^)(NSURLSessionDataTask *, id))success
                      failure:(void (^)(NSURLSessionDataTask *, NSError *))failure;
- (NSURLSessionDataTask *)POST:(NSString *)url
                    parameters:(id)parameters
                       headers:(NSDictionary<NSString *, NSString *> *)headers
                      progress:(void (^)(NSProgress *))progress
                       success:(void (^)(NSURLSessionDataTask *, id))success
                       failure:(void (^)(NSURLSessionDataTask *, NSError *))failure;
- (NSURLSessionDataTask *)POST:(NSString *)url
                    parameters:(id)parameters
                       headers:(NSDictionary<NSString *, NSString *> *)headers
     constructingBodyWithBlock:(void (^)(id<AFMultipartFormData>))block
                      progress:(void (^)(NSProgress *))progress
                       success:(void (^)(NSURLSessionDataTask *, id))success
                       failure:(void (^)(NSURLSessionDataTask *, NSError *))failure;
@end
typedef enum : unsigned long { AFSSLPinningModeNone, AFSSLPinningModePublicKey, AFSSLPinningModeCertificate } AFSSLPinningMode;
@interface AFSecurityPolicy : NSObject
+ (instancetype)policyWithPinningMode:(AFSSLPinningMode)mode withPinnedCertificates:(NSSet *)certificates;
@end
typedef enum : NSInteger { AFNetworkReachabilityStatusUnknown = -1 } AFNetworkReachabilityStatus;
@interface AFNetworkReachabilityManager : NSObject
+ (instancetype)sharedManager;
- (void)startMonitoring;
- (void)setReachabilityStatusChangeBlock:(void (^)(AFNetworkReachabilityStatus))block;
@end

// The variables of the snippets.
static AFHTTPSessionManager *manager;
static NSURL *file, *film;
static NSURLRequest *request;
static NSSet *certificates;
static void *identity;
